//! What a run may grow to in memory and tables, and what it asked for beyond.

use wasmtime::ResourceLimiter;

use crate::options::TABLE_ELEMENTS;

/// What a guest was refused. Guests see a growth that fails and most then give up with a trap of
/// their own, so this is what tells why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refused {
    /// More memory than the limit.
    Memory,
    /// More table elements than the limit.
    Table,
}

/// Holds one run to its limits.
#[derive(Debug)]
pub(crate) struct Limiter {
    limit: usize,
    /// Linear memory in use, in bytes, all memories together. Guests never give memory back, so this
    /// is also the most.
    pub(crate) memory: usize,
    pub(crate) refused: Option<Refused>,
}

impl Limiter {
    /// A limit of `memory` bytes.
    pub(crate) const fn new(memory: usize) -> Self {
        Self { limit: memory, memory: 0, refused: None }
    }

    /// The limit on memory, in bytes.
    pub(crate) const fn limit(&self) -> usize {
        self.limit
    }
}

impl ResourceLimiter for Limiter {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let all = self.memory.saturating_add(desired.saturating_sub(current));
        let fits = all <= self.limit;
        if fits {
            self.memory = all;
        } else {
            self.refused = Some(Refused::Memory);
        }
        Ok(fits)
    }

    fn table_growing(
        &mut self,
        _current: usize,
        desired: usize,
        _maximum: Option<usize>,
    ) -> wasmtime::Result<bool> {
        let fits = desired <= TABLE_ELEMENTS;
        if !fits {
            self.refused = Some(Refused::Table);
        }
        Ok(fits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// G4: up to the limit and not beyond; what was refused is remembered.
    #[test]
    fn growth_ends_at_the_limit() {
        let mut limiter = Limiter::new(64 << 20);
        assert!(limiter.memory_growing(0, 64 << 20, None).unwrap());
        assert_eq!((limiter.memory, limiter.refused), (64 << 20, None));
        assert!(!limiter.memory_growing(64 << 20, (64 << 20) + 1, None).unwrap());
        assert_eq!((limiter.memory, limiter.refused), (64 << 20, Some(Refused::Memory)));
        // Several memories have one limit.
        let mut limiter = Limiter::new(64 << 20);
        assert!(limiter.memory_growing(0, 40 << 20, None).unwrap());
        assert!(!limiter.memory_growing(0, 40 << 20, None).unwrap());
        assert!(limiter.memory_growing(0, 24 << 20, None).unwrap());
        assert_eq!(limiter.memory, 64 << 20);
        let mut limiter = Limiter::new(64 << 20);
        assert!(limiter.table_growing(0, TABLE_ELEMENTS, None).unwrap());
        assert!(!limiter.table_growing(0, TABLE_ELEMENTS + 1, None).unwrap());
        assert_eq!(limiter.refused, Some(Refused::Table));
    }
}
