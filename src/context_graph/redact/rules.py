"""Defines our own rules for secrets, shapes of credentials in RE2's syntax, and loads detect-secrets' rules.

Values after telling names belong to keyed.py, headers to headers.py, bare random tokens to credential.py.
The detector's rules come from a cache, or from a helper process (extract.py) that writes it.
Patterns run on UTF-8 bytes, so ``\\w`` and classes are ASCII. The first group that took part in a
match is the secret; without groups it is the whole match. Where an issuer documents a length, the pattern
takes that or more, so that a longer token of a later scheme leaves no tail behind. Each pattern needs a
literal of about three characters for the prefilter to find.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

IMPORT_FORMAT: Final = 1
"""Of the JSON that extract writes and `load_imported` reads; part of the cache file's name."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A named RE2 pattern.

    ``grouped``: a group that took part is the secret, not the whole match. ``anchored``: there is a
    literal that the prefilter can look for; the others share one pass of their own. ``judged``: the
    words around it have a say, see keyed.is_typed_value. ``issued``: a token that
    its issuer's prefix tells, wherever it stands.
    """

    name: str
    pattern: str
    grouped: bool = True
    anchored: bool = True
    judged: bool = False
    issued: bool = False


_WORD: Final = r"[A-Za-z0-9_-]"
_ALNUM: Final = "[A-Za-z0-9]"
_HEX: Final = "[0-9a-fA-F]"
_UUID: Final = rf"{_HEX}{{8}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{4}}-{_HEX}{{12}}"

# Issuer prefixes. One line each; the name is what stands in the text afterwards.
_TOKENS: Final = (
    ("aws-key-id", r"A(?:KI|SI|BI|CC|RO|GP|ID|IP|NP|NV)A[0-9A-Z]{16}"),
    ("aws-key-id", r"A3T[A-Z0-9]{17}"),
    ("aws-bedrock-key", rf"ABSK{_ALNUM}{{40}}[A-Za-z0-9+/=]*"),
    ("github-token", rf"gh[pousr]_{_WORD}{{20,}}"),
    ("github-token", rf"github_pat_{_WORD}{{20,}}"),
    (
        "gitlab-token",
        rf"gl(?:pat|dt|ft|soat|rt|rtr|cbt|ptt|agent|oas|imt|ffct)-{_WORD}{{20,}}(?:\.{_WORD}+)*",
    ),
    ("gitlab-token", rf"GR1348941{_WORD}{{20,}}"),
    ("bitbucket-token", rf"AT(?:BB|CTT3|ATT3){_WORD}{{20,}}=*{_ALNUM}*"),
    ("slack-token", rf"(?i)xox[abceoprs](?:\.xox[bp])?-{_WORD}{{10,}}"),
    ("slack-token", rf"xapp-\d-{_WORD}{{10,}}"),
    ("slack-webhook", r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9_/]{20,})"),
    ("stripe-key", rf"[rs]k_(?:live|test)_{_ALNUM}{{16,}}"),
    ("stripe-webhook-secret", r"whsec_[A-Za-z0-9+/=]{20,}"),
    ("square-token", rf"sq0(?:atp|csp|idp)-{_WORD}{{22,}}"),
    ("square-token", rf"EAAA{_WORD}{{56,}}"),
    ("npm-token", rf"npm_{_ALNUM}{{30,}}"),
    ("npm-auth", r"""(?i)(?:^|[\s:])_(?:authtoken|auth|password)\s*=\s*["']?([^\s"']{6,})"""),
    ("pypi-token", rf"pypi-{_WORD}{{40,}}"),
    ("rubygems-key", rf"rubygems_{_HEX}{{40,}}"),
    ("crates-io-token", rf"cio{_ALNUM}{{32}}"),
    ("anthropic-key", rf"sk-ant-{_WORD}{{16,}}"),
    ("openai-key", rf"sk-(?:proj|svcacct|admin|None)-{_WORD}{{16,}}"),
    ("openai-key", rf"sk-{_WORD}*T3BlbkFJ{_WORD}*"),
    ("openai-key", rf"sk-{_ALNUM}{{32,}}"),
    ("openrouter-key", rf"sk-or-{_WORD}{{20,}}"),
    ("huggingface-token", rf"hf_{_ALNUM}{{30,}}"),
    ("huggingface-token", rf"api_org_{_ALNUM}{{30,}}"),
    ("groq-key", rf"gsk_{_ALNUM}{{30,}}"),
    ("xai-key", rf"xai-{_ALNUM}{{40,}}"),
    ("perplexity-key", rf"pplx-{_ALNUM}{{30,}}"),
    ("replicate-token", rf"r8_{_ALNUM}{{30,}}"),
    ("google-api-key", rf"AIza{_WORD}{{35}}"),
    ("google-oauth-token", r"ya29\.[A-Za-z0-9_.-]{20,}"),
    ("google-oauth-secret", rf"GOCSPX-{_WORD}{{20,}}"),
    ("google-refresh-token", rf"1//0{_WORD}{{20,}}"),
    ("firebase-key", rf"AAAA{_WORD}{{7}}:APA91b{_WORD}{{100,}}"),
    ("azure-storage-key", r"(?i)(?:account|sharedaccess)key=([A-Za-z0-9+/=]{20,})"),
    ("signature", r"(?i)[?&](?:x-(?:amz|goog)-)?signature=([A-Za-z0-9%+/=_-]{20,})"),
    ("azure-sas", r"(?i)[?&;]sig=([A-Za-z0-9%+/=_-]{20,})"),
    ("azure-client-secret", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,}"),
    ("azure-devops-token", rf"{_ALNUM}{{76}}AZDO{_ALNUM}{{4}}"),
    ("sendgrid-key", rf"SG\.{_WORD}{{16,}}\.{_WORD}{{16,}}"),
    ("mailgun-key", rf"(?:key|pubkey)-{_HEX}{{32}}"),
    ("mailchimp-key", r"[0-9a-z]{32}-us[0-9]{1,2}"),
    ("discord-webhook", rf"discord(?:app)?\.com/api/webhooks/(\d+/{_WORD}{{30,}})"),
    ("telegram-token", rf"\d{{8,10}}:AA{_WORD}{{32,}}"),
    ("digitalocean-token", rf"do[opr]_v1_{_HEX}{{40,}}"),
    ("shopify-token", rf"shp(?:at|ca|pa|ss|ua)_{_HEX}{{32}}"),
    ("databricks-token", rf"dapi{_HEX}{{32}}(?:-\d)?"),
    ("linear-key", rf"lin_(?:api|oauth)_{_ALNUM}{{30,}}"),
    ("notion-token", rf"(?:secret_|ntn_){_ALNUM}{{40,}}"),
    ("vault-token", rf"hv[sbr]\.{_WORD}{{20,}}"),
    ("terraform-token", rf"{_ALNUM}{{14}}\.atlasv1\.{_WORD}{{40,}}"),
    ("doppler-token", rf"dp\.(?:pt|st|ct|sa|scim|audit)\.(?:{_WORD}+\.)?{_ALNUM}{{40,}}"),
    ("planetscale-token", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9=_.-]{30,}"),
    ("fly-token", r"(?:FlyV1 )?fm[12][ra]?_[A-Za-z0-9+/=_-]{40,}"),
    ("grafana-token", r"gl(?:c|sa)_[A-Za-z0-9+/=_]{20,}"),
    ("sentry-token", r"sntry[su]_[A-Za-z0-9+/=_]{20,}"),
    ("newrelic-key", r"NRAK-[A-Z0-9]{27}"),
    ("newrelic-key", rf"NRJS-{_HEX}{{19}}"),
    ("postman-key", rf"PMAK-{_HEX}{{24}}-{_HEX}{{34}}"),
    ("figma-token", rf"fig[dour]_{_WORD}{{30,}}"),
    ("airtable-token", rf"pat{_ALNUM}{{14}}\.{_HEX}{{64}}"),
    ("dropbox-token", rf"sl\.[Bu]\.?{_WORD}{{60,}}"),
    ("mapbox-secret", rf"sk\.eyJ{_WORD}+\.{_WORD}+"),
    ("docker-token", rf"dckr_(?:pat|oat)_{_WORD}{{20,}}"),
    ("supabase-key", rf"sb(?:p|_secret)_{_WORD}{{20,}}"),
    ("tailscale-key", rf"tskey-[a-z]+-{_WORD}{{10,}}"),
    ("onepassword-token", rf"ops_eyJ{_WORD}{{20,}}"),
    ("age-secret-key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
    ("easypost-key", rf"EZ[AT]K{_ALNUM}{{54}}"),
    ("pulumi-token", rf"pul-{_HEX}{{40}}"),
    ("cloudflare-key", rf"v1\.0-{_HEX}{{24}}-{_HEX}{{100,}}"),
    ("hubspot-token", rf"pat-(?:na|eu|ap)\d-{_UUID}"),
    ("plaid-token", rf"access-(?:production|sandbox|development)-{_UUID}"),
    ("langfuse-key", rf"sk-lf-{_UUID}"),
    ("context7-key", rf"ctx7sk-{_UUID}"),
    ("firecrawl-key", rf"\bfc-{_HEX}{{32}}\b"),
    ("axiom-token", rf"xa[ap]t-{_UUID}"),
    ("amazon-token", rf"amzn\.mws\.{_UUID}"),
    ("amazon-secret", rf"amzn1\.oa2-cs\.v1\.{_HEX}{{64,}}"),
    ("razorpay-key", rf"rzp_(?:live|test)_{_ALNUM}{{14,}}"),
    ("newrelic-key", rf"{_HEX}{{36}}NRAL"),
    ("onepassword-key", r"A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    ("linkedin-secret", rf"WPL_AP\d\.{_ALNUM}{{16}}\.[A-Za-z0-9+/=]{{6,}}"),
    ("helicone-key", rf"sk-helicone-(?:[a-z]{{2}}-)?(?:{_UUID}|{_ALNUM}{{6,}}(?:-{_ALNUM}{{6,}}){{2,}})"),
    ("k3s-token", rf"K10{_HEX}{{32,}}::(?:{_WORD}+:)?[A-Za-z0-9._-]{{8,}}"),
    ("jwt", r"eyJ[A-Za-z0-9_=-]{4,}\.[A-Za-z0-9_=-]{4,}(?:\.[A-Za-z0-9_.+/=-]*)?"),
)

_COMMAND: Final = r"(?:[^\r\n]|\\\r?\n)*?"

# Credentials told by their surroundings.
_SHAPES: Final = (
    # The body stops at what no key file holds, so an unclosed block can't swallow a page of prose.
    (
        "private-key",
        r"-{4,5} ?BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{4,5}"
        r"(?:[\s\S]*?-{4,5} ?END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)? ?-{0,5}"
        r"|(?:(?:Proc-Type|DEK-Info|Comment|Version|Hash): [^\n\\]*"
        r"""|[A-Za-z0-9+/=\s"'>|#-]|\\[nrt\\"'])*)""",
    ),
    ("private-key", r"PuTTY-User-Key-File-\d:(?:[\s\S]*?Private-MAC: *[0-9a-fA-F]*|[\s\S]*)"),
    # No issuer's token to redact_id: an id may be made of the same parts.
    ("launchdarkly-key", rf"\b(?:sdk|api)-{_UUID}\b"),
    ("url-password", r"""://[^\s/:@"'<>\\`]*:([^\s/"'<>\\`]+)@"""),
    (
        "url-password",
        r"(?i)(?:postgres(?:ql)?|mysql|mariadb|mongodb|rediss?|amqps?|mssql|clickhouse|ldaps?|smtps?|kafka)"
        r"""(?:\+[a-z0-9_]+)*://[^\s/:@"'<>\\`]*:([^\s"'<>\\`]+)@""",
    ),
    ("url-token", r"""://([^\s/:@"'<>\\`]{20,})@"""),
    (
        "cookie",
        r"""(?i)\b(?:phpsessid|jsessionid|asp\.net_sessionid|connect\.sid|sessionid|csrftoken|xsrf-token)"""
        r"""=([^\s;&"'`\\]{6,})""",
    ),
    # Options without a value may stand before -u in one word; a command may go on behind a backslash.
    (
        "curl-user",
        rf"""\bcurl\b{_COMMAND}\s(?:-[#0-9aBfgGijJklLnNOpqRsSvVZ]*[uU]|--(?:proxy-)?user)[ =]*"""
        r"""["']?[^\s:"']*:([^\s"']+)""",
    ),
    ("sshpass", r"""\bsshpass[ \t]+-p[ \t]*["']?([^\s"']+)"""),
    (
        "mysql-password",
        r"\b(?:mysql(?:dump|admin|import|show|check)?|mariadb(?:-dump|-admin)?)\b"
        r"""(?:[^\r\n|;&]|\\\r?\n)*?\s-p(?:"([^"\r\n]+)|'([^'\r\n]+)|([^\s"']{3,}))""",
    ),
    ("keyed-value", r"""-pass(?:in|out)?\s+pass:([^\s"']+)"""),
    ("keyed-value", r"""(?i)\b(?:password|pwd)=([^;"'\r\n]+);\s*\w[\w ]*="""),
    ("netrc", r"(?i)\b(?:machine\s+\S+|default)\s+login\s+\S+\s+password\s+(\S+)"),
    ("sql-password", r"""(?i)\bidentified\s+by\s+\\*['"]([^'"\\\r\n]+)"""),
    (
        "sql-password",
        r"""(?i)\b(?:with|set|login|encrypted|unencrypted|and|user\s+\S+|role\s+\S+)\s+password\s+\\*'([^'\\\r\n]+)""",
    ),
    ("crypt-hash", r"\$(?:2a|2b|2x|2y)\$\d\d\$[A-Za-z0-9./]{30,}"),
    ("crypt-hash", r"\$(?:apr1|argon2i|argon2d|argon2id|gy)\$[A-Za-z0-9./$=,+]{20,}"),
    ("crypt-hash", r"[:'\"](\$[1567y]\$[A-Za-z0-9./$=,+]{20,})"),
)

# The rest of one command; an argument of it, in quotes or bare.
_REST: Final = r"\b(?:[^\r\n|;&]|\\\r?\n)*?"
_ARGUMENT: Final = r"""(?:\\?"([^"\r\n]+)"|\\?'([^'\r\n]+)'|([^\s"'`|;&\\-][^\s"'`|;&\\]*))"""

# Programs that take a password under an option's name of their own, in a pair, or from a pipe.
_TOOLS: Final = (
    rf"\b(?:redis|valkey)-cli{_REST}\s-a[ \t]+{_ARGUMENT}",
    rf"\b(?:zip|unzip|sqlcmd|bcp|mosquitto_pub|mosquitto_sub){_REST}\s-P[ \t]+{_ARGUMENT}",
    rf"\bopenssl{_REST}\s-[kK][ \t]+{_ARGUMENT}",
    rf"\bldap(?:search|add|modify|whoami){_REST}\s-w[ \t]+{_ARGUMENT}",
    rf"\bmongo(?:sh|dump|restore){_REST}\s-p[ \t]+{_ARGUMENT}",
    rf"\bnmcli{_REST}\spassword[ \t]+{_ARGUMENT}",
    rf"""\bhttps?{_REST}\s(?:-a|--auth)[ =]["']?[^\s:"']*:([^\s"']+)""",
    rf"""\bsmbclient{_REST}\s-U[ \t]*["']?[^\s%"']*%([^\s"']+)""",
    rf"\b(?:gh|keyvault)[ \t]+secret[ \t]+set{_REST}\s(?:--body|-b|--value)[ =]+{_ARGUMENT}",
    rf"\bput-parameter{_REST}SecureString{_REST}--value[ =]+{_ARGUMENT}",
    rf"\bput-parameter{_REST}--value[ =]+{_ARGUMENT}{_REST}SecureString",
    r"""\b(?:(?:sqlplus|sqlldr|expdp|impdp)[ \t]+|jdbc:oracle:(?:thin|oci):)["']?[\w$#]+/([^\s"'@]+)@""",
    rf"""\b(?:echo|printf)[ \t]+(?:[^\r\n|;&]*[ \t])??{_ARGUMENT}[ \t]*\|[^\r\n|;&]*"""
    r"(?:sudo -S|--password-stdin|chpasswd|passwd --stdin)",
    r"""(?i)(?:\bauth[ \t]*=|(?:basic|digest)auth)[ \t]*\(\s*["'][^"'\r\n]*["']\s*,\s*["']([^"'\r\n]+)["']""",
)

# Heads that prose has too: what follows is taken for a secret only if it looks typed in.
_IN_PROSE: Final = (
    ("keyed-value", r"""(?i)\bpass=["']?([^\s"'`;&,]{4,})"""),
    ("keyed-value", r"""\s--?pass[ =]["']?([^\s"'`;&|<>-][^\s"'`;&|<>]*)"""),
    (
        "keyed-value",
        r"\b(?:set|setx|ENV|ARG|export)\s+(?:-[A-Za-z]+\s+)*"
        r"""[A-Z][A-Z0-9_]*(?:TOKEN|SECRET|PASSWORD|PASSWD|_KEY|CREDENTIAL)[A-Z0-9_]*\s+["']?([^\s"'=]\S*)""",
    ),
    (
        "keyed-value",
        r"\b(?:docker|podman|nerdctl|buildah|skopeo|helm|oras|crane)[ \t]+(?:registry[ \t]+|auth[ \t]+)?login"
        r"""\b(?:[^\r\n|;&]|\\\r?\n)*?\s-p[ =]*["']?([^\s"']{3,})""",
    ),
    # auth: { user: 'x', pass: '...' }, on one line or two
    (
        "keyed-value",
        # Spelled out, so that the prefilter has "user:" and "pass:" to look for, not half of all texts.
        r"""(?i)\b(?:user|user"|user'|username|username"|username'):[^\r\n]{1,160}(?:\s|\r?\n[ \t]*)"""
        r"""(?:pass|"pass"|'pass'):[ \t]*["']([^"'\r\n]{3,})""",
    ),
    # The whole parameter of an address: ?key=, not ?cache_key=
    ("keyed-value", rf"(?i)[?&](?:key|appid|subscription-key)=({_HEX}{{32,}})"),
    (
        "npm-auth",
        r"(?i)\b(?:npm|pnpm|yarn)[ \t]+(?:config[ \t]+)?set[ \t]+(?:--?\S+[ \t]+)*"
        r"""["']?\S*?(?:authtoken|:_auth|:_password)["']?[ \t=]+["']?([^\s"']{6,})""",
    ),
    ("netrc", r"(?i)\blogin\s+\S+\s+password\s+([^\s\d]*\d\S*)"),
    ("sql-password", r"""(?i)\bpassword\s+\\*['"]([^'"\\\r\n]+)"""),
)

OWN_RULES: Final = (
    *(Rule(name, pattern, issued=True) for name, pattern in _TOKENS),
    *(Rule(name, pattern) for name, pattern in _SHAPES),
    *(Rule(name, pattern, judged=True) for name, pattern in _IN_PROSE),
    *(Rule("keyed-value", pattern, judged=True) for pattern in _TOOLS),
)


_PACKAGE: Final = "detect_secrets"
_MAX_CACHE_BYTES: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Imported:
    """Rules and keyword patterns of the installed detector, and what is wrong with them in words."""

    rules: tuple[Rule, ...] = ()
    keywords: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()


def load_imported(cache_dir: Path, *, timeout_s: float) -> Imported:
    """The installed detector's rules. Never raises: ``problems`` tells why there are none."""
    version = installed_version()
    if version is None:
        return Imported(problems=("redaction: detect-secrets is not installed; only our own rules are used",))
    path = _cache_path(cache_dir, version)
    cached = _read(path)
    if cached is not None:
        return cached
    document, problem = _run_helper(version, timeout_s)
    if problem:
        return Imported(problems=(f"redaction: {problem}; only our own rules are used",))
    fresh = _parse(json.loads(document))
    problem = _write(path, document)
    return Imported(fresh.rules, fresh.keywords, (*fresh.problems, problem)) if problem else fresh


def is_cached(cache_dir: Path) -> bool:
    """Whether load_imported will do without its helper process."""
    version = installed_version()
    return version is None or _cache_path(cache_dir, version).exists()


def _cache_path(cache_dir: Path, version: str) -> Path:
    return cache_dir / f"secret-rules-{version}-{IMPORT_FORMAT}.json"


def _run_helper(version: str, timeout_s: float) -> tuple[bytes, str]:
    """The output of the helper process, checked; or why there is none."""
    import subprocess  # once per installed version; 1 MB that the owner otherwise never needs

    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "context_graph.redact.extract"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=timeout_s,
            check=True,
        )
        _parse(json.loads(done.stdout))
    except subprocess.CalledProcessError as error:
        said = error.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return b"", f"reading detect-secrets {version} failed: {said}"
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        return b"", f"reading detect-secrets {version} failed: {error}"
    return done.stdout, ""


def installed_version() -> str | None:
    """The version in the installed package's folder name; importlib.metadata would cost 20 ms and 2 MB."""
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError:
            continue
        for name in names:
            if name.startswith(f"{_PACKAGE}-") and name.endswith((".dist-info", ".egg-info")):
                return name[len(_PACKAGE) + 1 :].rpartition(".")[0]
    return None


def _parse(document: Any) -> Imported:
    """Raises ValueError if ``document`` is not what extract writes."""
    try:
        if document["format"] != IMPORT_FORMAT:
            raise ValueError(f"format {document['format']!r} of the rules is not {IMPORT_FORMAT}")
        rules = tuple(
            Rule(str(name), str(pattern), grouped=False, anchored=bool(anchored))
            for name, pattern, anchored in document["rules"]
        )
        keywords = tuple(str(word) for word in document["keywords"])
        failed = [f"{name}: {why}" for name, why in document["skipped"] if why.startswith("failed")]
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"the rules have an unknown form: {error!r}") from error
    return Imported(rules, keywords, tuple(f"redaction: rule {text}" for text in failed))


def _read(path: Path) -> Imported | None:
    try:
        if path.stat().st_size > _MAX_CACHE_BYTES:
            return None
        return _parse(json.loads(path.read_bytes()))
    except (OSError, ValueError):
        return None


def _write(path: Path, text: bytes) -> str:
    """Write the cache atomically; the reason in words if that fails."""
    try:
        os.makedirs(path.parent, mode=0o700, exist_ok=True)
        temporary = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
            with os.fdopen(handle, "wb") as out:
                out.write(text)
            os.replace(temporary, path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        return f"redaction: rules not cached in {path.parent}: {error.strerror}"
    return ""
