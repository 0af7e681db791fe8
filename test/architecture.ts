// The laws of the house as functions over file texts, so that a fixture can break each of them.
import { posix } from 'node:path';

export const floors: Record<string, number> = {
  object: 0,
  config: 1,
  expression: 1,
  cluster: 1,
  queue: 1,
  store: 1,
  sync: 2,
  apiserver: 2,
  management: 3,
  devcluster: 3,
  cli: 4,
};

/** Files directly under src/ that everyone may import. */
export const leaves = new Set(['src/clock.ts', 'src/log.ts', 'src/metrics.ts', 'src/safe-text.ts']);

/** Files directly under src/ that nobody may import: the front door. */
export const frontDoor = new Set([
  'src/main.ts',
  'src/assemble.ts',
  'src/assemble-connections.ts',
  'src/assemble-lease.ts',
  'src/assemble-outages.ts',
  'src/assemble-patches.ts',
  'src/assemble-permissions.ts',
  'src/assemble-references.ts',
  'src/assemble-report.ts',
  'src/assemble-windows.ts',
  'src/sandbox.ts',
]);

const importPattern = /(?:\bfrom|\bimport)\s*\(?\s*['"](\.[^'"]+)['"]/g;

export function violations(files: ReadonlyMap<string, string>): string[] {
  const found: string[] = [];
  const edges = new Map<string, string[]>();
  for (const [file, text] of files) {
    edges.set(file, importsOf(file, text));
    found.push(...fileViolations(file, text, edges.get(file) ?? []));
  }
  return [...found, ...cycles(edges)];
}

function importsOf(file: string, text: string): string[] {
  const targets: string[] = [];
  for (const match of text.matchAll(importPattern)) targets.push(posix.join(posix.dirname(file), match[1] as string));
  return targets;
}

function fileViolations(file: string, text: string, imports: string[]): string[] {
  const found: string[] = [];
  const room = roomOf(file);
  if (room !== undefined && !(room in floors))
    found.push(`${file}: there is no room "${room}"; the rooms are ${Object.keys(floors).join(', ')}`);
  for (const target of imports) {
    if (frontDoor.has(target) && !frontDoor.has(file))
      found.push(`${file} imports ${target}: nobody imports the front door`);
    const other = roomOf(target);
    if (room === undefined) {
      if (leaves.has(file) && !leaves.has(target))
        found.push(`${file} imports ${target}: a leaf imports nothing of the house`);
      continue;
    }
    if (other === undefined || other === room) continue;
    if ((floors[other] ?? 99) >= (floors[room] ?? -1)) {
      found.push(`${file} imports ${target}: a room imports only from lower floors and from itself`);
    }
  }
  if (!file.endsWith('.mjs') && !text.startsWith('//') && !text.startsWith('/*') && !text.startsWith('#!')) {
    found.push(`${file}: a file opens with a sentence that says what happens here`);
  }
  if (file !== 'src/main.ts' && file !== 'src/sandbox.ts' && file.endsWith('.ts')) {
    for (const { line, code } of codeLines(text)) {
      if (/\bprocess\.(?!versions\b)/.test(code)) found.push(`${file}:${line}: process.* appears in main.ts only`);
      if (file === 'src/clock.ts' || leaves.has(file)) continue;
      if (/\bDate\.now\(|\bperformance\.now\(|\bset(Timeout|Interval)\(|new Date\(\)/.test(code)) {
        found.push(`${file}:${line}: time comes from the Clock that is passed in`);
      }
      if (/\bMath\.random\(/.test(code)) found.push(`${file}:${line}: randomness is passed in`);
    }
  }
  if (/^export default\b/m.test(text)) found.push(`${file}: no default exports`);
  const lines = text.split('\n').length;
  if (file.endsWith('.ts') && lines > 400) found.push(`${file}: ${lines} lines; a file is split at 400`);
  if (/\/(utils?|helpers?|common|lib|shared|index)(\.ts|\/)/.test(file))
    found.push(`${file}: no utils, helpers, common, lib, shared or index`);
  return found;
}

/** Lines without comments and without the insides of strings and template texts; good enough for a law, not a parser. */
function codeLines(text: string): { line: number; code: string }[] {
  const blanked = text
    .replace(/\/\*[\s\S]*?\*\//g, (comment) => comment.replace(/[^\n]/g, ' '))
    .replace(/'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`/g, (literal) => literal.replace(/[^\n]/g, ' '))
    .replace(/\/\/[^\n]*/g, '');
  return blanked.split('\n').map((code, index) => ({ line: index + 1, code }));
}

function roomOf(file: string): string | undefined {
  const parts = file.split('/');
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

function cycles(edges: Map<string, string[]>): string[] {
  const found: string[] = [];
  const done = new Set<string>();
  const visit = (file: string, trail: string[]): void => {
    const at = trail.indexOf(file);
    if (at >= 0) {
      found.push(`import cycle: ${[...trail.slice(at), file].join(' -> ')}`);
      return;
    }
    if (done.has(file)) return;
    for (const next of edges.get(file) ?? []) visit(next, [...trail, file]);
    done.add(file);
  };
  for (const file of edges.keys()) visit(file, []);
  return found;
}
