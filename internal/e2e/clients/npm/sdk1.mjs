// sdk1.mjs TRANSPORT COMMAND-OR-URL SIGNS STALLS: the TypeScript SDK v1 with its own defaults; what it
// gives a program that it starts of the environment, too.
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { talk, versionOf } from './talk.mjs';

const [kind, target, signs, stalls] = process.argv.slice(2);
const transport = kind === 'stdio'
  ? new StdioClientTransport({ command: target, stderr: 'inherit' })
  : new StreamableHTTPClientTransport(new URL(target), {
      requestInit: { headers: { Authorization: `Bearer ${process.env.FLEET_AGENT_MCP_TOKEN}` } },
    });

// The client tells the transport what was negotiated, and nobody else.
let protocol;
const tell = transport.setProtocolVersion?.bind(transport);
transport.setProtocolVersion = (v) => { protocol = v; tell?.(v); };

const client = new Client({ name: 'e2e', version: '1' });
await client.connect(transport);
await talk({
  client, signs, stalls,
  version: versionOf('@modelcontextprotocol/sdk'),
  protocol: () => protocol,
  call: (name, args, signal) => client.callTool({ name, arguments: args }, undefined, { signal }),
});
