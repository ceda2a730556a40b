//! backend-metrics.
