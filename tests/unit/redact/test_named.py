"""Values that a name, an option or a place in a file tells to be secret, and ordinary text beside them."""

from __future__ import annotations

import pytest

from context_graph.redact import Redactor

HEX = "9f86d081884c7d659a2feaa0c55ad015"
SHA = "3f786850e387550fdab836ed7e6dc881de23001b"
UUID = "550e8400-e29b-41d4-a716-446655440000"
TYPED = "Tr0ub4dor-3xyz"

HIDDEN = [
    # Settings in capitals
    *(f"{name}=⟦{HEX}⟧" for name in ("AZURE_OPENAI_KEY", "OPENAI_KEY", "PINECONE_KEY", "AZURE_SEARCH_KEY")),
    f"export DD_APP_KEY=⟦{SHA}⟧ && make",
    f'AZURE_STORAGE_KEY="⟦{HEX}+ab/{SHA}==⟧"',
    f"OPENAI_KEY: ⟦{HEX}⟧\nnext: 1",
    f'"OPENAI_KEY": "⟦{HEX}⟧",',
    f'os.environ["OPENAI_KEY"] = "⟦{HEX}⟧"',
    f"- name: OPENAI_KEY\n  value: ⟦{HEX}⟧",
    f'{{"name": "OPENAI_KEY", "value": "⟦{HEX}⟧"}}',
    f"PGPASS=⟦{TYPED}⟧",
    "SSHPASS=⟦swordfish⟧ sshpass -e ssh host",
    f"DB_PW=⟦{TYPED}⟧",
    # Name and value are fields
    f"env:\n  - name: DB_PASSWORD\n    value: ⟦{TYPED}⟧\n  - name: B\n    value: c",
    "- name: DB_PASSWORD\n  value: ⟦Swordfish⟧\n",
    f"- name: DB_PASSWORD\n  value: '⟦{TYPED}⟧'",
    f'{{"name": "DB_PASSWORD", "value": "⟦{TYPED}⟧"}}',
    f'{{\n  "name": "DB_PASSWORD",\n  "value": "⟦{TYPED}⟧"\n}}',
    '{\\"name\\": \\"DB_PASSWORD\\", \\"value\\": \\"⟦hunter2x⟧\\"}',
    f'<add key="ApiKey" value="⟦{TYPED}⟧"/>',
    'name  = "DB_PASSWORD"\n  value = "⟦swordfish⟧"',
    f"ParameterKey=DBPassword,ParameterValue=⟦{TYPED}⟧",
    # Arguments
    f"define('DB_PASSWORD', '⟦{TYPED}⟧');",
    "define( 'SECURE_AUTH_KEY', '⟦x8&kQ 2;!v q9Zr⟧' );",
    'os.environ.setdefault("DB_PASSWORD", "⟦swordfish⟧")',
    f"putenv('API_KEY', '⟦{TYPED}⟧')",
    # Blocks
    f"password: |\n  ⟦{TYPED}⟧\nuser: me",
    f"stringData:\n  api_key: >-\n    ⟦{HEX}\n    {HEX}⟧\n  b: c",
    "auth: { user: 'x', pass: '⟦swordfish⟧' }",
    f'auth: {{\n  user: "me@example.com",\n  pass: "⟦{TYPED}⟧",\n}}',
    # Options
    f"curl -su bob:⟦{TYPED}⟧ https://example.com",
    f"curl -sSLu 'bob:⟦{TYPED}⟧' https://example.com",
    f"curl -s \\\n  -u bob:⟦{TYPED}⟧ \\\n  https://example.com",
    f"curl --proxy-user bob:⟦{TYPED}⟧ https://example.com",
    f'mysql -uroot -p"⟦{TYPED}⟧" shop',
    "mysqldump -uroot -p'⟦sword fish⟧' shop",
    f"mariadb -uroot -p⟦{TYPED}⟧ shop",
    f"docker login -u x -p ⟦{TYPED}⟧ ghcr.io",
    f"podman login ghcr.io \\\n  -u x -p '⟦{TYPED}⟧'",
    f"helm registry login -u x -p ⟦{HEX}⟧ ghcr.io",
    f"npm config set //registry.npmjs.org/:_authToken ⟦{HEX}⟧",
    f'npm config set "//npm.pkg.github.com/:_authToken" "⟦{HEX}⟧"',
    f"yarn config set npmAuthToken ⟦{HEX}⟧",
    f"GET https://api.example.com/v1/a?key=⟦{HEX}⟧&lang=de",
    f"https://api.example.com/a?lang=de&appid=⟦{HEX}⟧",
]

ORDINARY = [
    # Names of things stored
    "cache_key=user:42 PRIMARY_KEY=id sort_key=created_at CACHE_KEY=user:42",
    f"CACHE_KEY={SHA}",
    f"IDEMPOTENCY_KEY: {HEX}",
    f'"PRIMARY_KEY": "{HEX}"',
    f"RECORD_KEY={UUID}",
    f"S3_KEY=builds/{SHA}/app.tar.gz",
    f"TLS_KEY=/etc/ssl/{SHA}.key",
    f"TLS_KEY=certs/{SHA}.pem",
    'KEY = "name"',
    "Pass key=value to set an option; --key=value works too.",
    "OPENAI_KEY=your-key-here",
    "OPENAI_KEY=$AZURE_KEY OPENAI_KEY=${X_KEY}",
    f"GIT_COMMIT={SHA} KEY_COMMIT={SHA}",
    f"the value of DD_APP_KEY is checked; commit {SHA}",
    "sshpass: command not found",
    "~/.pgpass: permission denied",
    # Fields
    '{"label": "Password", "value": "password"}',
    '{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db", "key": "password"}}}',
    "- name: DB_PASSWORD\n  valueFrom:\n    secretKeyRef:\n      name: db\n",
    "- name: DB_PASSWORD\n  value: $(DB_PASSWORD)\n",
    '- name: DB_PASSWORD\n  value: "{{ .Values.password }}"\n',
    'name = "DB_PASSWORD"\n  value = var.db_password',
    'Parameter(name="token", value=tok)',
    'Parameter(\n    name="password",\n    value=given,\n)',
    '<input name="password" value={values.password} onChange={change} />',
    '{"name": "token_count", "value": 1234}',
    '"required": ["password", "value"]',
    "the password value: must be long",
    # Arguments
    'os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")',
    'row.setdefault("primary_key", "created_at")',
    "define('WP_DEBUG', 'enabled');",
    "define('DB_PASSWORD', getenv('DB_PASSWORD'));",
    # Blocks
    "password: |\n  Enter the password you were given by mail.\n",
    "password: |\n  {{ vault_password }}\n",
    "client_key: |\n  -----BEGIN CERTIFICATE-----\n",
    "tests: { user: 3, pass: 12, fail: 0 }",
    "pass: 'all', skip: 'none'",
    # Options
    "docker run -p 8080:80 nginx",
    "docker login && docker run -p 8080:80 nginx",
    "docker login -u x -p $TOKEN ghcr.io",
    "docker login -u x --password-stdin ghcr.io",
    "curl -Xpu http://localhost:8080/a",
    "curl -sSfL https://example.com:8443/a -o b",
    'mysql -uroot -p"$MYSQL_ROOT" shop',
    "mysql -uroot -p shop",
    "npm config set registry https://registry.npmjs.org/",
    "npm config set //registry.npmjs.org/:_authToken ${NPM_TOKEN}",
    "npm set audit false",
    "https://example.com/a?key=value&sort_key=name",
    f"https://example.com/a?cache_key={SHA}",
    f"https://example.com/a?v={SHA}",
    "https://example.com/a?key=2024-annual-report-of-the-board",
]


@pytest.fixture(scope="module")
def redactor() -> Redactor:
    return Redactor()


@pytest.mark.parametrize("row", HIDDEN)
def test_a_named_value_goes_to_its_end_and_nothing_else(row: str, redactor: Redactor) -> None:
    """REQ-HOOKS-33; a second pass changes nothing."""
    before, secret, after = (
        row.partition("⟦")[0],
        row.partition("⟦")[2].partition("⟧")[0],
        row.partition("⟧")[2],
    )
    clean = redactor.redact(before + secret + after)
    assert clean.startswith(f"{before}[redacted:") and clean.endswith(f"]{after}"), clean
    assert clean.count("[redacted:") == 1 and redactor.redact(clean) == clean


@pytest.mark.parametrize("text", ORDINARY)
def test_ordinary_names_fields_and_options_stay(text: str, redactor: Redactor) -> None:
    """Keys of records, references, code and prose are no secrets."""
    assert redactor.redact(text) is text
