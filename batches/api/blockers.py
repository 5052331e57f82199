"""POST /api/v2/blockers/{id}/answer: the answer, and the task goes on."""

from rest_framework.request import Request
from rest_framework.response import Response

from batches.answering import Resumption, send_on
from batches.api.shapes import AnsweredShape
from tasks.api.base import RowId
from tasks.api.blockers import MAX_TEXT, BlockerView
from tasks.api.describe import describe
from tasks.api.fields import StrictBoolean, StrictSerializer, StrictText, read_input
from tasks.api.objects import blocker_object
from tasks.blockers import answer_blocker


class AnswerView(BlockerView):
    class Input(StrictSerializer):
        answer = StrictText(max_length=MAX_TEXT)
        resume = StrictBoolean(
            default=True, help_text="Off: the task becomes READY, and nothing is started"
        )

    http_method_names = ["post", "options"]

    @describe(
        "answer_blocker",
        "Answer a question; the task goes on when no other is open",
        returns=AnsweredShape,
        takes=Input,
        errors=(409,),
        example={"answer": "Blue"},
    )
    def post(self, request: Request, blocker_id: RowId) -> Response:
        blocker = self.blocker(blocker_id)
        given = read_input(self.Input, request.data)
        by = request.user.get_username()
        answer_blocker(blocker=blocker, answer=given["answer"], by=by)
        resumption = (
            send_on(blocker=blocker, by=by)
            if given["resume"]
            else Resumption(batch=None, message="nothing was started, as was asked")
        )
        batch = resumption.batch
        body = blocker_object(self.blocker(blocker_id)) | {
            "resumed_batch_id": str(batch.id) if batch else None,
            "resumption": resumption.message,
        }
        return Response(body)
