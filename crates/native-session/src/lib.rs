//! native-session.
