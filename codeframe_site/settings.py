"""Settings, read once from the environment; docs/settings.md lists every variable."""

import os
import sys
from pathlib import Path

from codeframe_site import env
from codeframe_site.state import kept_secret, make_folder

BASE_DIR = Path(__file__).resolve().parent.parent


def _default_state_dir() -> Path:
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "codeframe"
    data_home = os.environ.get("XDG_DATA_HOME") or str(Path.home() / ".local" / "share")
    return Path(data_home) / "codeframe"


STATE_DIR = env.folder(
    "CODEFRAME_STATE_DIR",
    _default_state_dir(),
    "the user's data folder",
    "Holds everything the product writes: database, trees, logs, keys",
)
make_folder(STATE_DIR)

SECRET_KEY = env.text(
    "CODEFRAME_SECRET_KEY", "", "Signs sessions and tickets; made at the first start when empty"
) or kept_secret(STATE_DIR)
SECRETS_KEYS = env.names(
    "CODEFRAME_SECRETS_KEYS",
    "",
    "Keys that encrypt secrets in the database, the first one for new; empty: a file is made",
)
ENVIRONMENT_SECRETS = env.secrets() | {"SECRET_KEY": SECRET_KEY}
DEBUG = env.flag("CODEFRAME_DEBUG", "Show tracebacks in the browser; never on a network")
ALLOWED_HOSTS = env.names(
    "CODEFRAME_ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]", "Host names the web server answers to"
)
PORT = env.integer("CODEFRAME_PORT", 8000, "Port of the web server; 0 takes any free one")
CSRF_TRUSTED_ORIGINS = env.names(
    "CODEFRAME_TRUSTED_ORIGINS", "", "Origins behind a proxy, for example https://codeframe.example"
)

INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_q",
    "django_htmx",
    "codeframe_site",
    "batches",
    "tasks",
    "costs",
]

MIDDLEWARE = [
    "codeframe_site.headers.ContentPolicyMiddleware",
    "codeframe_site.sign_in.SignInThrottleMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "codeframe_site.urls"
ASGI_APPLICATION = "codeframe_site.asgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "codeframe_site.frame.frame",
            ],
        },
    },
]

DATABASES = {
    "default": env.database(
        env.text("DATABASE_URL", "", "postgres://user:password@host/name; empty is SQLite"),
        STATE_DIR,
    )
}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "login"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "login"

LANGUAGE_CODE = "en-us"
TIME_ZONE = "UTC"
USE_TZ = True
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "codeframe_site" / "static"]
# Serves the packages' own static files without a collectstatic step.
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_HTTPONLY = True
X_FRAME_OPTIONS = "DENY"
CSRF_FAILURE_VIEW = "codeframe_site.outer_errors.csrf_failure"
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "codeframe_site.auth.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["codeframe_site.parsers.StrictJsonParser"],
    "EXCEPTION_HANDLER": "codeframe_site.errors.exception_handler",
    "UNICODE_JSON": True,
    "DEFAULT_SCHEMA_CLASS": "codeframe_site.schema.Schema",
    "DEFAULT_THROTTLE_CLASSES": ["codeframe_site.throttles.CallThrottle"],
    "DEFAULT_THROTTLE_RATES": {
        "read": env.text("CODEFRAME_RATE_READ", "6000/min", "Reading requests per caller"),
        "write": env.text("CODEFRAME_RATE_WRITE", "600/min", "Changing requests per caller"),
        "login": env.text(
            "CODEFRAME_RATE_LOGIN", "10/min", "Attempts to sign in, per name and address"
        ),
        "start": env.text("CODEFRAME_RATE_START", "60/min", "Requests that start work, per caller"),
    },
}

WORKSPACE_ROOTS = env.names(
    "CODEFRAME_WORKSPACE_ROOTS",
    "",
    "Folders below which the API and the pages may register repositories; empty: none",
)
SPECTACULAR_SETTINGS = {
    "TITLE": "codeframe",
    "DESCRIPTION": "Batches of coding-agent tasks on git repositories.",
    "VERSION": "2",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.IsAuthenticated"],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v2",
    "OAS_VERSION": "3.1.0",
    "POSTPROCESSING_HOOKS": [],
    "PATH_CONVERTER_OVERRIDES": {
        "short_id": {
            "type": "string",
            "pattern": "^[0-9a-f-]{4,36}$",
            "description": "An id, or an unambiguous beginning of it",
        }
    },
}
HOST_NAME = env.text("CODEFRAME_HOST", "", "Name of this machine where several share one database")
WORKERS = env.integer("CODEFRAME_WORKERS", 4, "Queue workers on this machine", minimum=2)
MAX_CONCURRENT_BATCHES = env.integer(
    "CODEFRAME_MAX_CONCURRENT_BATCHES",
    max(1, WORKERS - 1),
    "Batches run at once on this machine; fewer than the workers",
    minimum=1,
)
MAX_REQUESTS = env.integer(
    "CODEFRAME_MAX_REQUESTS",
    64,
    "Requests under way at once; one more is told to come back",
    minimum=1,
)
MAX_WAITERS = env.integer(
    "CODEFRAME_MAX_WAITERS", 16, "Requests that may wait at once for something to end", minimum=0
)
ARRIVE_SECONDS = env.integer(
    "CODEFRAME_ARRIVE_SECONDS",
    60,
    "A request that has not arrived whole by then is cut off",
    minimum=1,
)
MAX_STREAMS = env.integer(
    "CODEFRAME_MAX_STREAMS", 1000, "Event streams open at once in one web process", minimum=1
)
MAX_STREAMS_PER_USER = env.integer(
    "CODEFRAME_MAX_STREAMS_PER_USER", 100, "Of these, by one person", minimum=1
)
STREAM_PATIENCE_SECONDS = env.integer(
    "CODEFRAME_STREAM_PATIENCE_SECONDS",
    60,
    "A client of a stream that takes nothing for so long is sent away",
    minimum=1,
)
MAX_AGENTS = env.integer(
    "CODEFRAME_MAX_AGENTS", 16, "Agents run at once on this machine, over all batches", minimum=1
)

LEASE_SECONDS = env.integer(
    "CODEFRAME_LEASE_SECONDS",
    30,
    "A batch whose worker is silent this long is taken over",
    minimum=2,
)
HEARTBEAT_SECONDS = env.integer(
    "CODEFRAME_HEARTBEAT_SECONDS", 5, "How often a worker renews its lease", minimum=1
)
ORPHAN_SECONDS = env.integer(
    "CODEFRAME_ORPHAN_SECONDS", 900, "An agent nobody follows for this long stops itself", minimum=1
)
STOP_GRACE_SECONDS = env.integer(
    "CODEFRAME_STOP_GRACE_SECONDS", 5, "Time an agent has to end by itself when told to stop"
)
SPOOL_BYTES = env.integer(
    "CODEFRAME_SPOOL_BYTES",
    64 * 1024 * 1024,
    "Agent output kept per stream of a run, half head, half tail",
    minimum=64 * 1024,
)

DISK_FLOOR_BYTES = env.integer(
    "CODEFRAME_DISK_FLOOR_BYTES",
    2 * 1024**3,
    "Disk space that building an environment must leave free",
)
ENVIRONMENT_QUOTA_BYTES = env.integer(
    "CODEFRAME_ENVIRONMENT_QUOTA_BYTES",
    20 * 1024**3,
    "What shared environments may take together; those unused the longest go first",
)
ENVIRONMENT_DAYS = env.integer(
    "CODEFRAME_ENVIRONMENT_DAYS", 14, "An environment unused this long is removed", minimum=1
)
PROVISION_PASS_ENV = env.names(
    "CODEFRAME_PROVISION_PASS_ENV",
    "",
    "Variables let through to what builds environments, for example PIP_INDEX_URL",
)
SETUP_ADDRESSES = env.names(
    "CODEFRAME_SETUP_ADDRESSES",
    "",
    "Indexes and addresses that set-up commands may install from, besides the default ones",
)
SETUP_APT = env.flag("CODEFRAME_SETUP_APT", "Let set-up commands install packages of the system")
ENGINE_PROGRAMS = {
    "claude": env.text("CODEFRAME_CLAUDE", "", "Path of Claude Code; empty: claude on the PATH"),
    "codex": env.text("CODEFRAME_CODEX", "", "Path of Codex; empty: codex on the PATH"),
    "opencode": env.text("CODEFRAME_OPENCODE", "", "Path of opencode; empty: as on the PATH"),
    "gemini": env.text("CODEFRAME_GEMINI", "", "Path of Gemini CLI; empty: gemini on the PATH"),
}
AGENT_PERMISSION = env.choice(
    "CODEFRAME_AGENT_PERMISSION",
    "BYPASS",
    ("BYPASS", "EDITS", "READ"),
    "What agents may do without asking in their own trees: all (bypass), edit files, or read",
).lower()
BUILTIN_OPTIONS = env.options(
    "CODEFRAME_BUILTIN_OPTIONS",
    "Options of the built-in agent as a JSON object; see docs/builtin-agent.md",
)

REDIS_URL = env.address(
    "CODEFRAME_REDIS_URL",
    ("redis", "rediss", "unix"),
    "redis://host/0 carries the queue's messages; empty: the database",
)

_TEN_YEARS = 10 * 365 * 86400
Q_CLUSTER = {
    # A message is only a hint to look at a batch row: it is never redelivered while a job runs
    # (retry of years), never given up by time (time-out of years) and never repeated on failure.
    "name": "codeframe",
    **({"redis": REDIS_URL} if REDIS_URL else {"orm": "default"}),
    "workers": WORKERS,
    "timeout": _TEN_YEARS,
    "retry": _TEN_YEARS + 86400,
    "ack_failures": True,
    "max_attempts": 1,
    "poll": 0.2,
    "bulk": 1,
    "queue_limit": 1,
    "catch_up": False,
    "save_limit": 250,
    "daemonize_workers": False,
    "recycle": 50,
    "ALT_CLUSTERS": {},
}

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "line": {
            "()": "codeframe_site.logs.MaskingFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s",
        }
    },
    "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {
        "handlers": ["stderr"],
        "level": env.choice(
            "CODEFRAME_LOG_LEVEL",
            "WARNING",
            ("DEBUG", "INFO", "WARNING", "ERROR"),
            "DEBUG, INFO, WARNING or ERROR",
        ),
    },
}
