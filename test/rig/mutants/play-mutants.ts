// Plants each mistake in a copy of the sources and plays seeds there until one of them finds something. In: the list of mutants. Out: which of them
// live on, which is a hole in the net.
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Mutant, mutants } from './mutants.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
/** A mistake that so many seeds do not find is not found by a landing's gate. */
const seeds = 500;

export function playMutants(
  jobs: string,
  { only, kind }: { only?: string | undefined; kind?: Mutant['kind'] },
): number {
  const chosen = mutants.filter((one) => (only ?? one.name) === one.name && (kind ?? one.kind) === one.kind);
  if (chosen.length === 0) {
    process.stderr.write(`rig: --mutant is one of: ${mutants.map(({ name }) => name).join('; ')}\n`);
    return 2;
  }
  let living = 0;
  for (const mutant of chosen) {
    const found = foundBy(mutant, jobs);
    if (found === undefined) living++;
    process.stdout.write(
      `${found === undefined ? 'LIVES' : 'found'}  ${mutant.kind}: ${mutant.name}${found === undefined ? '' : `  ${found}`}\n`,
    );
  }
  process.stdout.write(`${chosen.length - living} of ${chosen.length} mutants were found within ${seeds} seeds\n`);
  return living === 0 ? 0 : 1;
}

/** What the first seed says that finds it. */
function foundBy(mutant: Mutant, jobs: string): string | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'hostward-mutant-'));
  try {
    for (const part of ['src', 'test', 'package.json'])
      cpSync(join(root, part), join(folder, part), { recursive: true });
    symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
    const path = join(folder, mutant.file);
    writeFileSync(path, planted(readFileSync(path, 'utf8'), mutant));
    const words = [join(folder, 'test/rig/main.ts'), '--seeds', String(seeds), '--first', '--jobs', jobs];
    const { stdout, stderr } = spawnSync(process.execPath, words, { cwd: folder, encoding: 'utf8' });
    const line = stdout.split('\n').find((one) => /^seed \d+: /.test(one));
    if (line === undefined && !/ seeds, \d+ with violations; .* on \d+ processes/.test(stdout))
      throw new Error(`play the mutant "${mutant.name}": wanted a run to its end, found: ${stderr.slice(-2_000)}`);
    return line?.slice(0, 200);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

export function planted(text: string, { name, file, find, replace }: Mutant): string {
  if (text.split(find).length !== 2)
    throw new Error(`plant "${name}": wanted its place once in ${file}, found it ${text.split(find).length - 1} times`);
  return text.replace(find, () => replace);
}
