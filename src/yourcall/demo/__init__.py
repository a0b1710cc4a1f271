"""The demo: a scripted agent that goes through the real pipeline, and the stage it is shown on."""
