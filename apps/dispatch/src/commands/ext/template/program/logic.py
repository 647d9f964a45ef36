"""What the extension decides: functions from values to values. No host here, so a test needs nothing but values."""


def greet(greeting, name):
    return f"{greeting}, {name}!"
