"""Progress of a fit, told to the callbacks of scikit-learn."""

from separatrix.result import Iterations, Progress, Status

__all__ = ["ObservedProgress"]


class _ObservedIterations(Iterations):
    """Loop counter that opens a callback task for each pass and closes it after."""

    def __init__(self, max_iter, progress):
        super().__init__(max_iter)
        self._progress = progress

    def __iter__(self):
        for iteration in range(self.max_iter):
            self._task = self._progress.subtask("iteration", 0)
            self._stop = False
            yield iteration
            if self._stop:
                self.status = Status.STOPPED
                return

    @property
    def stopped(self):
        return self._stop

    def record(self, objective, model=None):
        super().record(objective)
        self._stop = self._task.close(model)


class ObservedProgress(Progress):
    """Progress that speaks to scikit-learn's callbacks: a task of the estimator's task tree."""

    def __init__(self, estimator, context, X):
        self._estimator = estimator
        self._context = context
        self._X = X
        context.call_on_fit_task_begin(estimator=estimator, X=X)

    def subtask(self, name, max_subtasks):
        context = self._context.subcontext(name, max_subtasks=max_subtasks)
        return ObservedProgress(self._estimator, context, self._X)

    def iterations(self, max_iter):
        return _ObservedIterations(max_iter, self)

    def close(self, model=None):
        attributes = None
        if model is not None:

            def attributes():
                return self._estimator._model_attributes(model, self._X)

        return self._context.call_on_fit_task_end(
            estimator=self._estimator, X=self._X, reconstruction_attributes=attributes
        )
