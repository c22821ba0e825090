//! The healer on a driven clock.
