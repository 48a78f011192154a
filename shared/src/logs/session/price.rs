//! What tokens of Claude models cost.

/// When the prices below were asked for. An older table makes older sums; it decides nothing.
pub const PRICES_ASKED: &str = "2026-11-21";

/// List prices of one family of models, in billionths of a US dollar per token: 3000 is $3 per million tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// What the model's name contains; the first row of [`PRICES`] that fits is the one.
    pub model: &'static str,
    /// Input that is not cached.
    pub input: u64,
    /// Input written to the cache for 5 minutes. For an hour it costs twice the plain input.
    pub cache_write: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

/// The prices, as Claude Code 2.1.197 itself states them, and for the older models as Anthropic's price list does.
/// What fits no row costs what the newest Opus costs: that is what Claude Code assumes.
pub const PRICES: [Price; 7] = [
    Price { model: "3-5-haiku", input: 800, cache_write: 1_000, cache_read: 80, output: 4_000 },
    Price { model: "haiku-3-5", input: 800, cache_write: 1_000, cache_read: 80, output: 4_000 },
    Price { model: "haiku", input: 1_000, cache_write: 1_250, cache_read: 100, output: 5_000 },
    Price { model: "sonnet", input: 3_000, cache_write: 3_750, cache_read: 300, output: 15_000 },
    Price { model: "opus-4-1", input: 15_000, cache_write: 18_750, cache_read: 1_500, output: 75_000 },
    Price { model: "opus-4-2025", input: 15_000, cache_write: 18_750, cache_read: 1_500, output: 75_000 },
    Price { model: "", input: 5_000, cache_write: 6_250, cache_read: 500, output: 25_000 },
];

/// The row of a model.
pub fn price_of<'a>(prices: &'a [Price], model: &str) -> &'a Price {
    prices.iter().find(|p| model.contains(p.model)).unwrap_or(&PRICES[PRICES.len() - 1])
}

impl Price {
    /// The cost in billionths of a US dollar, which is exact. `cache_hour` is the part of `cache_write` that is
    /// kept for an hour.
    pub fn of(&self, input: u64, cache_write: u64, cache_hour: u64, cache_read: u64, output: u64) -> u64 {
        let hour = cache_hour.min(cache_write);
        let parts = [
            (input, self.input),
            (cache_write - hour, self.cache_write),
            (hour, self.input.saturating_mul(2)),
            (cache_read, self.cache_read),
            (output, self.output),
        ];
        parts.iter().fold(0, |sum: u64, (n, price)| sum.saturating_add(n.saturating_mul(*price)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_have_their_rows() {
        for (model, input) in [
            ("claude-opus-4-5-20251101", 5_000),
            ("claude-opus-4-8[1m]", 5_000),
            ("claude-opus-5", 5_000),
            ("claude-opus-4-1-20250805", 15_000),
            ("claude-opus-4-20250514", 15_000),
            ("claude-sonnet-4-5-20250929", 3_000),
            ("us.anthropic.claude-haiku-4-5-20251001-v1:0", 1_000),
            ("claude-3-5-haiku-20241022", 800),
            ("something-new", 5_000),
            ("", 5_000),
        ] {
            assert_eq!(price_of(&PRICES, model).input, input, "{model}");
        }
        assert_eq!(price_of(&[], "claude-haiku-4-5").input, 5_000, "an own table without a fitting row");
    }

    /// The sums Claude Code 2.1.197 printed as `total_cost_usd`.
    #[test]
    fn sums_agree_with_claude_code() {
        let sonnet = price_of(&PRICES, "claude-sonnet-4-5");
        assert_eq!(sonnet.of(100, 2_000, 0, 10_000, 50), 11_550_000);
        let opus = price_of(&PRICES, "claude-opus-4-6");
        assert_eq!(opus.of(100, 2_000, 0, 10_000, 50), 19_250_000);
        assert_eq!(opus.of(0, 1_000, 1_000, 0, 0), 10_000_000, "an hour costs twice the input");
        assert_eq!(opus.of(0, 1_000, 5_000, 0, 0), 10_000_000);
        assert_eq!(opus.of(u64::MAX, u64::MAX, 1, u64::MAX, u64::MAX), u64::MAX);
    }
}
