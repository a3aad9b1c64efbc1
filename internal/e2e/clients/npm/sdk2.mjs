// sdk2.mjs TRANSPORT COMMAND-OR-URL SIGNS STALLS MODE: the TypeScript SDK v2 with its own defaults.
// MODE is legacy, auto or a revision that is pinned.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { talk, versionOf } from './talk.mjs';

const [kind, target, signs, stalls, mode] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: target, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.FLEET_AGENT_MCP_TOKEN}` } },
    });

const client = new Client({ name: 'e2e', version: '1' }, {
  versionNegotiation: { mode: mode === 'legacy' || mode === 'auto' ? mode : { pin: mode } },
});
await client.connect(transport);
await talk({
  client, signs, stalls,
  version: versionOf('@modelcontextprotocol/client'),
  protocol: () => client.getNegotiatedProtocolVersion(),
  call: (name, args, signal) => client.callTool({ name, arguments: args }, { signal }),
});
