// The plainest hook one would write for Node: read the event, append it to a file, answer nothing.
import { appendFileSync, readFileSync } from "node:fs";

const event = JSON.parse(readFileSync(0, "utf8"));
appendFileSync(process.env.RIVAL_LOG, JSON.stringify(event) + "\n");
