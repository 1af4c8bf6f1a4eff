"""Facts of a young store with what their owner asks next, and requests that none of them answers.

Written by hand for `research/fit/floor.py`. The constants of `memory/relevance.py` were chosen on
DEV; HELD_BACK was written at the same time and is only counted.
"""

from __future__ import annotations

__all__ = ["DEV", "DEV_REQUESTS", "HELD_BACK", "HELD_BACK_REQUESTS"]


def _pairs(text: str) -> list[tuple[str, str]]:
    lines = [line.split(" | ") for line in text.strip().splitlines()]
    return [(fact.strip(), asked.strip()) for fact, asked in lines]


DEV = _pairs("""
Staging listens on 8443 | which port does staging use?
Staging listens on 8443 | deploy to staging please
Staging listens on 8443 | How do I reach the staging server
We use pnpm, not npm | install lodash with npm
The API key for Stripe lives in 1Password, vault Payments | where is the stripe key?
Releases go out every second Thursday | when is the next release
Anna owns the billing service | who should review my billing change?
Postgres 15 is the primary database | which database do we run
Migrations are written with alembic | write a migration that adds a column email to users
The user prefers tabs over spaces | reformat this file with the right indentation, tabs or spaces?
Never force-push to main | push my branch to main
Integration tests need docker compose up first | why do the integration tests fail on my machine?
The flaky test is test_upload_large; rerun it once | test_upload_large failed again
Logs go to Loki, dashboards are in Grafana | show me the logs of the worker
Feature flags live in LaunchDarkly | put the new checkout behind a feature flag
Redis is used for sessions only, not for caching | can I cache this response in redis?
The frontend is Svelte with Vite | add a dark mode switch to the frontend
CI runs on GitHub Actions, self-hosted runners in Frankfurt | the CI is slow today, where does it run?
Payments are rounded half-even to two digits | how do we round amounts?
Customer names may hold emoji, the column is utf8mb4 | saving a name with an emoji gives an error
Errors are reported to Sentry, project web-prod | open the sentry issue for the crash
The mobile app talks to v2 of the API only | can we remove v1 of the api?
Docs are built with mkdocs and published by the docs job | update the docs site
Use conventional commits | write the commit message
Secrets are rotated on the first of the month | rotate the secrets
The staging database is restored from production each night | my rows in the staging database are gone
Timeouts are 30 s everywhere but 120 s in the export service | what is the timeout of exports
The legacy importer is written in Perl and nobody touches it | fix the importer for legacy files
Python 3.11 is the minimum version | can I use PEP 695 generics in python here?
The team lives in three time zones, stand-up is at 15:00 UTC | what time is stand-up
The queue is RabbitMQ with a dead-letter exchange called dlx.main | messages end up in the dead letter queue
Images are served by Cloudflare R2 | the image upload is broken
Line length is 110 characters | wrap the lines to our line length
ruff replaces black and isort here | run black on this file
The license header must say 2019-2026 | add the license header
The Kubernetes namespace is shop-prod | get the pods of production from kubernetes
Invoices are numbered per year, beginning at 1000 | generate the next invoice number
The word for tenants in code is "workspace" | add a tenant id to the table
Benchmarks run on the box called heron | run the benchmarks
Search is Meilisearch, the index is rebuilt on deploy | search results are stale
The parser of dates takes ISO 8601 only | parse "3 March 2024" from the form
The webhook retries five times with backoff | how often is a webhook retried
Tokens expire after 24 hours | users are logged out every day, why do the tokens die
The port 9229 is taken by the debugger proxy | attach the debugger
Sprint goals are kept in Linear | what is the goal of this sprint
The vendor folder is never edited by hand | change the timeout in vendor/http
The mail server is mailhog in dev, SES in production | why don't I get any mail in dev
""")
DEV_REQUESTS = """fix the typo in README
run the tests
what time is it
explain what this function does
rename the variable foo to count
make it shorter
add a unit test for the happy path
thanks, looks good
undo your last change
summarize what you did
why is this red
format the json in the clipboard
translate the comment to German
what does this regex match
remove the unused imports
is there a simpler way to write this loop
draw a diagram of the class hierarchy
sort the list by name
convert this callback to async await
add type hints
split this file in two
what is the difference between a list and a tuple
find all usages of the helper
increase the font size of the heading
check the spelling
how do I exit vim
commit this
write a haiku about rain
continue
show the diff
merge both branches of the if
use a dataclass instead of a dict
explain the stack trace
center the button
what did we do yesterday
make the error message friendlier
add a progress bar
swap the two arguments
count the lines of code
bump the version number
write a docstring""".splitlines()

HELD_BACK = _pairs("""
Production runs in eu-west-1 | which region is production in
Nightly backups are kept for 35 days | how long do we keep backups
The admin panel is at /internal/ops | open the admin panel
The user wants answers without bullet points | list the pros and cons
Ben is on call this week | who is on call
GraphQL is served by Apollo, REST by FastAPI | add a field to the graphql schema
Terraform state lives in the bucket tf-state-acme | terraform complains about the state lock
Node 20 is pinned through volta | npm says the node version is wrong
The Elasticsearch cluster is read-only on Sundays | reindex elasticsearch
Prices are stored in cents as integers | add a 10 % discount to the price
Coverage must not fall below 85 % | coverage dropped after my change, does that matter?
The design tokens come from Figma by a script | change the primary colour in the design tokens
Kafka topics are named domain.event.v1 | create a topic for refunds
Use vitest, jest was removed | write a jest test for the cart
SSH goes through the bastion jump.acme.io | ssh into the web server
The customer export is a CSV with semicolons | the export opens in one column in Excel
Android builds need JDK 17 | the android build fails
Every PR needs a changelog entry | open a PR
Soft-deleted users keep their email for 90 days | a deleted user can't sign up again with the same email
The GPU box is booked through the sheet gpu-plan | train the model on the gpu
Translations are done in Crowdin, never edit de.json | fix the German translation of the menu
The feature freeze begins on 1 December | can I still merge this feature in December?
Cron jobs run in UTC | the cron job runs an hour early
Rate limit is 100 requests a minute per key | we get 429 from the api, what is the rate limit
The monorepo is built with bazel, not make | how do I build only the server
OpenTelemetry traces are sampled at 5 % | I can't find the trace of this request
Old invoices are archived to Glacier after two years | load an invoice of 2019
PDFs are rendered by a headless Chrome in the service pdf-render | the pdf has the wrong font
The word "client" means the customer, not the browser | write a class for a client
Passwords are hashed with argon2id | review the password hashing
The demo account is demo@acme.io | log in with the demo account
iOS releases need a screenshot in six languages | prepare the iOS release
The scheduler must be a singleton; two of them double-bill | scale the scheduler to two replicas
Dependencies are updated by Renovate on Mondays | update the dependencies
The cache key holds the tenant id, or customers see each other's data | change the cache key
Use British spelling in the UI | write the label for the color picker in the ui
Maps use MapLibre since Google was too expensive | add a google map to the store finder
Log lines are JSON, one a line | add logging to the importer
The chat bot answers in the channel #ask-ops | where do I ask ops
The old blog is frozen, posts go to the new CMS | publish a post on the blog
Weekly metrics are mailed by the job weekly-kpi | the weekly metrics did not come
Pagination is cursor-based, page numbers are gone | add pagination to the orders list
Currency conversion uses the ECB rate of the day before | which exchange rate do we use for currency
Only Mia may change the DNS zone | add a DNS record
WebSockets go through a separate load balancer | websocket connections drop after a minute
""")
HELD_BACK_REQUESTS = """what is the capital of Peru
extract this into a method
why does this not compile
delete the dead code
turn this into a one-liner
tell me a joke
clean up the whitespace
is this thread safe
write a comment above the function
reverse a string in C
go on
what is the big O of this
use early returns
try again with a smaller step
inline the constant
print hello world
add a null check
why is the sky blue
replace the magic number
please be more concise
explain it like I'm five
what are the arguments of main
capitalize the title
rewrite it as a generator
check for off-by-one errors
align the columns
does this leak memory
add an else branch
calculate 17 * 23
remove the print statements
generate ten random words
open the last file again
make the function pure
what's wrong with my bracket
how many weeks has a year
order the methods alphabetically
give me three alternatives
raise an exception instead
are we done
simplify the condition""".splitlines()
