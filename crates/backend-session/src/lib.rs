//! backend-session.
