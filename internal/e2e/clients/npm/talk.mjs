// The talk that each of the SDKs' clients has with the server, told as one line of JSON.
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

// versionOf reads the version of an installed package.
export function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
}

// talk has the whole talk. call(tool, arguments, signal) is a tool call in the SDK's own way, and
// protocol() the revision that was negotiated. The forge stalls on the issue with the number
// `stalls`: the file "stalled" in the directory `signs` says that it was asked for it, the file
// "aborted" that the call is given up, and the file "released" that the forge has answered.
export async function talk({ client, call, protocol, version, signs, stalls }) {
  const unforeseen = [];
  client.onerror = (error) => unforeseen.push(String(error));
  const text = async (tool, args) => {
    const result = await call(tool, args);
    return { text: result.content[0].text, isError: result.isError === true, items: result.content.length };
  };
  const report = { version, protocol: protocol() };
  report.tools = (await client.listTools()).tools.map((tool) => tool.name);
  report.init = await text('agent_init', { model: 'none', provider: 'none', harness: version });
  report.status = await text('agent_status', { state: 'verifying', description: 'é "#{x}" $HOME' });
  report.get = await text('agent_status_get', {});
  report.refused = await text('agent_status', { state: 'sleeping', description: 'x' });
  report.unknown = await failure(call('no_such_tool', {}));

  const abort = new AbortController();
  const stalling = failure(call('repo_issue_view', { number: Number(stalls) }, abort.signal));
  report.stalled = await appears(`${signs}/stalled`);
  abort.abort(new Error('the user is gone'));
  report.aborted = await stalling;
  writeFileSync(`${signs}/aborted`, '');
  report.released = await appears(`${signs}/released`);
  report.after = await text('agent_status_get', {});
  await client.close();
  // An answer to what was aborted would be reported here.
  report.unforeseen = unforeseen;
  console.log(JSON.stringify(report));
}

// appears waits for a file.
async function appears(file) {
  for (const end = Date.now() + 20_000; !existsSync(file) && Date.now() < end; ) await sleep(20);
  return existsSync(file);
}

// failure is what a call failed with; one that does not fail is told too.
async function failure(promise) {
  try {
    return { result: await promise };
  } catch (error) {
    return { code: error.code, message: String(error.message) };
  }
}
