"""Response writers: objects, tables, watch events and Status (apiserver pkg/endpoints/handlers/responsewriters)."""
