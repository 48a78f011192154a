//! What tokens cost: the prices we know of, and those the operator states in `[prices.MODEL]`.

use std::borrow::Cow;

use config::Config;

/// When the prices below were asked for. An older table makes older sums; it decides nothing.
pub const PRICES_ASKED: &str = "2026-11-21";

/// List prices of one family of models, in billionths of a US dollar per token: 3000 is $3 per million tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    /// What the model's name contains; the first row of a table that fits is the one.
    pub model: Cow<'static, str>,
    /// Input that is not cached.
    pub input: u64,
    /// Input written to the cache for 5 minutes. For an hour it costs twice the plain input.
    pub cache_write: u64,
    /// Input read from the cache.
    pub cache_read: u64,
    /// Output.
    pub output: u64,
}

const fn row(model: &'static str, [input, cache_write, cache_read, output]: [u64; 4]) -> Price {
    Price { model: Cow::Borrowed(model), input, cache_write, cache_read, output }
}

/// The prices, as Claude Code 2.1.197 itself states them, and for the older models as Anthropic's price list does.
/// What fits no row costs what the newest Opus costs: that is what Claude Code assumes.
pub static PRICES: [Price; 7] = [
    row("3-5-haiku", [800, 1_000, 80, 4_000]),
    row("haiku-3-5", [800, 1_000, 80, 4_000]),
    row("haiku", [1_000, 1_250, 100, 5_000]),
    row("sonnet", [3_000, 3_750, 300, 15_000]),
    row("opus-4-1", [15_000, 18_750, 1_500, 75_000]),
    row("opus-4-2025", [15_000, 18_750, 1_500, 75_000]),
    row("", [5_000, 6_250, 500, 25_000]),
];

/// The row of a model, as Claude Code itself would take it: whatever the model is called, it has one.
pub fn price_of<'a>(prices: &'a [Price], model: &str) -> &'a Price {
    prices.iter().find(|p| model.contains(&*p.model)).unwrap_or(&PRICES[PRICES.len() - 1])
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

/// A table of prices: the operator's own rows, then [`PRICES`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Prices {
    /// The operator's own, the longest name first.
    own: Vec<Price>,
}

impl Prices {
    /// The table of a configuration: `[prices.MODEL]` goes before what is built in, and of several names that a model's
    /// name contains the longest is taken.
    pub fn of(config: &Config) -> Prices {
        let mut own: Vec<Price> = config
            .prices
            .iter()
            .filter_map(|(model, keys)| {
                let (input, output) = keys.input.zip(keys.output)?;
                Some(Price {
                    model: Cow::Owned(model.clone()),
                    input: per_token(input),
                    cache_write: per_token(keys.cache_write.unwrap_or(input * 1.25)),
                    cache_read: per_token(keys.cache_read.unwrap_or(input * 0.1)),
                    output: per_token(output),
                })
            })
            .collect();
        own.sort_by_key(|row| std::cmp::Reverse(row.model.len()));
        Prices { own }
    }

    fn own(&self, model: &str) -> Option<&Price> {
        self.own.iter().find(|row| model.contains(&*row.model))
    }

    /// Whether the operator states the price of a model.
    pub(crate) fn is_own(&self, model: &str) -> bool {
        self.own(model).is_some()
    }

    /// The price of a model; `None` where nobody states one. The built-in row for whatever is not listed is for models of
    /// Anthropic alone. `in_claude`: its name stands in a log of Claude Code, where a missing one is the usual model.
    pub fn price(&self, model: &str, in_claude: bool) -> Option<&Price> {
        if let Some(own) = self.own(model) {
            return Some(own);
        }
        let is_known = ["claude", "opus", "sonnet", "haiku"].iter().any(|name| model.contains(name));
        (is_known || (model.is_empty() && in_claude)).then(|| price_of(&PRICES, model))
    }
}

/// Dollars per million tokens in billionths of a dollar per token.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the configuration holds no negative price and none above a million"
)]
fn per_token(dollars: f64) -> u64 {
    (dollars * 1_000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use config::PriceKeys;

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

    #[test]
    fn own_prices_go_first_and_the_longest_name_wins() {
        let mut config = Config::default();
        let keys = |input: f64, output: f64| PriceKeys {
            input: Some(input),
            output: Some(output),
            ..PriceKeys::default()
        };
        config.prices = [
            ("gpt-5".to_owned(), keys(1.25, 10.0)),
            ("gpt-5-mini".to_owned(), PriceKeys { cache_read: Some(0.0), ..keys(0.25, 2.0) }),
            ("sonnet".to_owned(), keys(4.0, 16.0)),
            ("half".to_owned(), PriceKeys { input: Some(1.0), ..PriceKeys::default() }),
        ]
        .into();
        let prices = Prices::of(&config);
        let of = |model: &str, in_claude| {
            prices.price(model, in_claude).map(|p| (p.input, p.cache_write, p.cache_read, p.output))
        };
        for (model, want) in [
            ("openai/gpt-5.1-codex", Some((1_250, 1_563, 125, 10_000))),
            ("gpt-5-mini", Some((250, 313, 0, 2_000))),
            ("claude-sonnet-4-5", Some((4_000, 5_000, 400, 16_000))),
            ("claude-opus-4-6", Some((5_000, 6_250, 500, 25_000))),
            ("anthropic/claude-next", Some((5_000, 6_250, 500, 25_000))),
            ("glm-4.6", None),
            ("half", None),
            ("", None),
        ] {
            assert_eq!(of(model, false), want, "{model}");
        }
        assert_eq!(of("", true), Some((5_000, 6_250, 500, 25_000)));
        assert_eq!(of("glm-4.6", true), None, "not Anthropic's, whoever wrote the log");
        assert!(Prices::default().price("claude-haiku-4-5", false).is_some_and(|p| p.input == 1_000));
    }
}
