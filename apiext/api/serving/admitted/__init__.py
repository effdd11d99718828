"""What admission plug-ins may do with the objects of an endpoint: ObjectInterfaces of definitions and of built-in kinds.

Must not call plug-ins, nor decide whom they see. Mirrors the ObjectInterfaces of apiserver pkg/endpoints/handlers/rest.go (RequestScope).
"""
