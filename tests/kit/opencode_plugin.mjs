// Runs our plugin file without opencode: events come in as lines, calls of its client go out as lines.
// The client answers as the real program does; which session is described by which event is in the log.
import readline from "node:readline"

const said = (line) => process.stdout.write(JSON.stringify(line) + "\n")
const client = {
  _client: {
    get: async ({ url }) => {
      said({ get: url })
      const known = url === "/session/status" ? {} : url.includes("/message?") ? [] : undefined
      return { response: { status: known ? 200 : 404 }, data: known }
    },
    post: async ({ url, body }) => {
      said({ post: url, body })
      return { response: { status: 200 }, data: true }
    },
  },
}
const { Yourcall } = await import(process.argv[2])
const hooks = await Yourcall({ client, directory: "/tmp/demo-shop" })
for await (const line of readline.createInterface({ input: process.stdin }))
  await hooks.event({ event: JSON.parse(line) })
for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate) // what was begun comes to its end
process.exit(0)
