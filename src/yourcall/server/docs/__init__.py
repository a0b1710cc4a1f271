"""The OpenAPI and OpenRPC documents."""
