from django.urls import path

from batches.web import batch_page, events_page, history, run_page, start_page, steering
from batches.web.output import views as output

BATCH = "batches/<uuid:batch_id>/"
RUN = "runs/<uuid:run_id>/"

urlpatterns = [
    path("workspaces/<uuid:workspace_id>/run/", start_page.start_page, name="batch-new"),
    path("batches/", history.batch_list, name="batches"),
    path(BATCH, batch_page.batch_page, name="batch"),
    path(f"{BATCH}tasks/<int:position>/", batch_page.batch_task, name="batch-task"),
    *(
        path(f"{BATCH}parts/{part}/", batch_page.batch_part, {"part": part}, name=f"batch-{part}")
        for part in ("head", "timeline", "outcome", "questions")
    ),
    *(
        path(f"{BATCH}{verb}/", steering.steer_batch, {"verb": verb}, name=f"batch-{verb}")
        for verb in steering.STEERS
    ),
    path(RUN, run_page.run_page, name="run"),
    *(
        path(f"{RUN}{tab}/", run_page.run_page, {"tab": tab}, name=f"run-{tab}")
        for tab in run_page.TABS
    ),
    *(
        path(f"{RUN}parts/{part}/", run_page.run_part, {"part": part}, name=f"run-part-{part}")
        for part in ("head", "checks", "events", "activity", "questions")
    ),
    path(f"{RUN}parts/output/", output.output_part, name="run-part-output"),
    path(f"{RUN}parts/since/", output.output_since, name="run-part-since"),
    path(f"{RUN}output/<slug:stream>.log", output.output_download, name="run-download"),
    path(f"{RUN}changes.patch", output.patch_download, name="run-patch"),
    path(f"{RUN}stop/", steering.stop_run, name="run-stop"),
    path(f"{RUN}retry/", steering.retry_run, name="run-retry"),
    path("events/", events_page.events_home, name="events"),
    path(
        "workspaces/<uuid:workspace_id>/events/", events_page.events_page, name="workspace-events"
    ),
]
