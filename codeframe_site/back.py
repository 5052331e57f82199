"""Where a form leads when it is done: the page it was on, if that is one of ours."""

from django.http import HttpRequest, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme


def back(request: HttpRequest, home: str = "/") -> HttpResponseRedirect:
    """To the path that the form's `next` gives, else to `home`."""
    there = request.POST.get("next", "")
    return HttpResponseRedirect(there if _is_ours(there) else home)


def _is_ours(there: str) -> bool:
    return there.startswith("/") and url_has_allowed_host_and_scheme(there, allowed_hosts=None)
