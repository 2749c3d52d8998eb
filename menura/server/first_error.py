"""The error that ended a group of tasks."""


def first_error(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first error in the group, in whichever group inside it that is."""
    error = group.exceptions[0]
    return first_error(error) if isinstance(error, BaseExceptionGroup) else error
