//! Where the requests of well-known providers go unless a configuration says otherwise.

/// Names of providers that Hermes 0.19 is built with, and the host of their interface: `PROVIDER_REGISTRY` in
/// `hermes_cli/auth.py`, `OPENROUTER_BASE_URL`, and `plugins/model-providers`, which also hold the second names.
///
/// Left out on purpose are those whose key or region chooses the host (kimi-coding, zai, stepfun, copilot, bedrock, vertex,
/// azure-foundry, qwen-oauth, minimax-oauth), those on this machine (lmstudio, ollama), and the bare `openai`, which Hermes
/// takes for OpenRouter. `.env` may lead any of them elsewhere, but it holds secrets and is not read: then the operator
/// names the endpoint.
const HOSTS: [(&[&str], &str); 25] = [
    (&["alibaba", "alibaba-cloud", "dashscope", "qwen-dashscope"], "dashscope-intl.aliyuncs.com"),
    (&["alibaba-coding-plan", "alibaba-coding", "alibaba_coding"], "coding-intl.dashscope.aliyuncs.com"),
    (&["anthropic", "claude", "claude-code", "claude-oauth"], "api.anthropic.com"),
    (&["arcee", "arcee-ai", "arceeai"], "api.arcee.ai"),
    (&["deepinfra", "deep-infra", "deepinfra-ai"], "api.deepinfra.com"),
    (&["deepseek", "deepseek-chat"], "api.deepseek.com"),
    (&["fireworks", "fireworks-ai", "fw"], "api.fireworks.ai"),
    (&["gemini", "google", "google-gemini", "google-ai-studio"], "generativelanguage.googleapis.com"),
    (&["gmi", "gmi-cloud", "gmicloud"], "api.gmi-serving.com"),
    (&["huggingface", "hf", "hugging-face", "huggingface-hub"], "router.huggingface.co"),
    (&["kilocode", "kilo", "kilo-code", "kilo-gateway"], "api.kilo.ai"),
    (&["kimi-coding-cn", "kimi-cn", "moonshot-cn"], "api.moonshot.cn"),
    (&["minimax", "mini-max"], "api.minimax.io"),
    (&["minimax-cn", "minimax-china", "minimax_cn"], "api.minimaxi.com"),
    (&["nous", "nous-portal", "nousresearch"], "inference-api.nousresearch.com"),
    (&["novita", "novita-ai", "novitaai"], "api.novita.ai"),
    (&["nvidia", "nvidia-nim"], "integrate.api.nvidia.com"),
    (&["ollama-cloud", "ollama_cloud"], "ollama.com"),
    (&["openai-api"], "api.openai.com"),
    (&["openai-codex", "codex", "openai_codex"], "chatgpt.com"),
    (&["opencode-zen", "opencode", "zen", "opencode-go", "go", "opencode-go-sub"], "opencode.ai"),
    (&["openrouter", "or"], "openrouter.ai"),
    (&["upstage", "solar"], "api.upstage.ai"),
    (&["xai", "grok", "x-ai", "x.ai", "xai-oauth", "grok-oauth"], "api.x.ai"),
    (&["xiaomi", "mimo", "xiaomi-mimo"], "api.xiaomimimo.com"),
];

/// The usual host of a provider. A name with `custom:` before it is the operator's own, whatever follows.
pub(super) fn host(provider: &str) -> Option<&'static str> {
    let name = provider.trim().to_ascii_lowercase();
    HOSTS.iter().find(|(names, _)| names.contains(&name.as_str())).map(|(_, host)| *host)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_there_once() {
        let mut names: Vec<&str> = HOSTS.iter().flat_map(|(names, _)| *names).copied().collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        // They are compared with what is read out of URLs.
        for (_, host) in HOSTS {
            assert_eq!(base::endpoint::host(&format!("https://{host}/v1")).as_deref(), Some(host));
        }
    }

    #[test]
    fn names_as_they_are_written() {
        for (name, want) in [
            ("openrouter", Some("openrouter.ai")),
            (" Claude ", Some("api.anthropic.com")),
            ("custom:openrouter", None),
            ("openai", None),
            ("zai", None),
            ("", None),
        ] {
            assert_eq!(host(name), want, "{name}");
        }
    }
}
