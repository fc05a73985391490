"""What scripts print."""


def heading(text):
    print(f"\n{text}\n{'=' * len(text)}")
