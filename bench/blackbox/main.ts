// `npm run bench:blackbox`: reads the words, runs, prints. Exit code 0: measured; 2: wrong words; 3: something around it is missing or wrong; 130:
// ended by Ctrl-C.
import { randomInt } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { readArguments, UsageFault, usage, type Wanted } from './arguments.ts';
import { BlackBox } from './black-box.ts';
import { Cluster } from './cluster.ts';
import { EnvironmentFault } from './fault.ts';
import { asText, type Result } from './result.ts';

const interruptedCode = 130;
const say = (sentence: string) => process.stderr.write(`blackbox: ${sentence}\n`);

class Interrupted extends Error {}

async function command(words: readonly string[]): Promise<number> {
  if (words.some((word) => word === '--help' || word === '-h')) {
    process.stdout.write(usage);
    return 0;
  }
  const wanted = readArguments(words);
  const clusters: Cluster[] = [];
  const ending = new AbortController();
  const interrupt = () => {
    if (ending.signal.aborted) {
      say('ends at once; its namespaces may stay');
      process.exit(interruptedCode);
    }
    say('ends, and removes its namespaces first');
    ending.abort(new Interrupted());
  };
  // A terminal that is closed must not leave namespaces either.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, interrupt);
  try {
    const virtual = await Cluster.open('virtual', wanted.virtualKubeconfig);
    clusters.push(virtual);
    const host = await Cluster.open('host', wanted.hostKubeconfig);
    clusters.push(host);
    const number = randomInt(65_536);
    const run = { word: number.toString(36), number };
    const box = new BlackBox({ wanted, virtual, host, run, progress: say, signal: ending.signal });
    try {
      print(await box.run(), wanted);
      return 0;
    } finally {
      for (const sentence of await box.cleanUp()) say(sentence);
    }
  } catch (error) {
    if (error instanceof Interrupted) return interruptedCode;
    throw error;
  } finally {
    for (const cluster of clusters) await cluster.close();
  }
}

function print(result: Result, { output, out, isKept }: Wanted): void {
  const json = `${JSON.stringify(result, undefined, 2)}\n`;
  process.stdout.write(output === 'json' ? json : `${asText(result)}\n`);
  const folder = fileURLToPath(new URL('../results', import.meta.url));
  try {
    if (isKept) mkdirSync(folder, { recursive: true });
    if (isKept) writeFileSync(`${folder}/blackbox-${result.date.replace(/[:.]/g, '-')}.json`, json);
    if (out !== undefined) writeFileSync(out, json);
  } catch (error) {
    throw new EnvironmentFault(`the result is printed, and cannot be kept: ${(error as Error).message}`);
  }
}

try {
  process.exitCode = await command(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageFault) {
    process.stderr.write(`blackbox: ${error.message}\n\n${usage}`);
    process.exitCode = 2;
  } else if (error instanceof EnvironmentFault) {
    process.stderr.write(`${error.message}\n`);
    process.exitCode = 3;
  } else throw error;
}
