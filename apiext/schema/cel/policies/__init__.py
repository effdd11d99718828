"""Expressions of admission: match conditions of webhooks, and everything in ValidatingAdmissionPolicies and MutatingAdmissionPolicies.

Owns their environments, checks, variables, values and budgets, over the evaluator of this room. Makes no decision about a request and
waits for nothing: an authorization check without an answer ends an evaluation, which its caller repeats with the answer.
Mirrors apiserver pkg/admission/plugin/cel, pkg/cel/mutation and the matcher of pkg/admission/plugin/webhook/matchconditions.

- Registry validation: `compiler.PolicyCompiler(composed=...)` with `check` and `add_variable`; both raise `InvalidExpressionError`.
- Webhooks: `match_conditions.compile_match_conditions`, then `MatchConditions.evaluate` with `inputs.Inputs`.
- Policies: a `PolicyCompiler` compiles each expression once; an `evaluation.Evaluation` evaluates them for one request, with a budget.
- Status of policies: `type_checking.expression_warnings` with a `TypeFinder`.
- `authorization.AuthorizationAnswers` makes the authorizer of a request. Its checks may raise `UnansweredCheckError`.
"""
