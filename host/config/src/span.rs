//! Places in the text of the file.

use std::ops::Range;

/// From one byte to before another.
pub(crate) type Span = Range<usize>;
