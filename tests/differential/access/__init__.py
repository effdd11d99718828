"""Who may do what: authentication, authorization and reviews on both servers."""
