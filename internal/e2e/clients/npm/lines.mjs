// lines.mjs REQUESTS COMMAND [ARGUMENT...]: starts a program that speaks MCP on its standard input
// and output, sends it the lines of the file REQUESTS one after the other, and prints the lines
// that it answered with, as one array: null where none came in time.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const patience = 20_000;
const [requests, command, ...args] = process.argv.slice(2);
const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
const arrived = [];
let wake = () => {};
createInterface({ input: child.stdout }).on('line', (line) => { arrived.push(line); wake(); });
const over = new Promise((resolve) => child.on('exit', resolve));

async function next() {
  if (arrived.length === 0) {
    let timer;
    await new Promise((resolve) => { wake = resolve; timer = setTimeout(resolve, patience); });
    clearTimeout(timer);
  }
  return arrived.shift() ?? null;
}

const answers = [];
for (const line of readFileSync(requests, 'utf8').split('\n').filter(Boolean)) {
  child.stdin.write(line + '\n');
  if ('id' in JSON.parse(line)) answers.push(await next());
}
child.stdin.end();
const late = setTimeout(() => child.kill('SIGKILL'), 5_000);
await over;
clearTimeout(late);
console.log(JSON.stringify([...answers, ...arrived]));
process.exit(0);
