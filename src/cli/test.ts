// `hostward test`: runs test cases for patches. In: folders. Out: a line or a diff for each case, perhaps a JUnit file, and an
// exit code.
import { join, resolve } from 'node:path';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import type { Options } from './line/parse-arguments.ts';
import { junitXml } from './offline/junit.ts';
import { type CaseResult, runCase } from './offline/test-case.ts';

export async function test(context: Context, options: Options): Promise<ExitCode> {
  if (options.operands.length === 0) {
    throw new CommandFault(exitCodes.usage, 'wanted folders with cases, found none', {
      hint: 'hostward test patches/',
    });
  }
  const folders: string[] = [];
  for (const operand of options.operands) folders.push(...(await casesBelow(context, operand.replace(/\/+$/, ''), 0)));
  if (folders.length === 0) {
    throw new CommandFault(exitCodes.input, `wanted a config.yaml below ${options.operands.join(', ')}, found none`);
  }
  const isJson = options.choice('output') === 'json';
  const results: CaseResult[] = [];
  for (const folder of folders) {
    const result = await runCase(context, folder, { isUpdate: options.has('update') });
    results.push(result);
    if (!isJson) context.stdout.write(textOf(result));
  }
  const failed = results.filter((result) => result.problems.length > 0).length;
  if (isJson) context.stdout.write(`${JSON.stringify({ cases: results, failed }, undefined, 2)}\n`);
  else
    context.stdout.write(`${results.length} ${results.length === 1 ? 'case' : 'cases'}, ${failed || 'none'} failed\n`);
  const junit = options.text('junit');
  if (junit !== undefined) await context.files.write(resolve(context.cwd, junit), junitXml(results));
  return failed === 0 ? exitCodes.fine : exitCodes.input;
}

/** Deeper than any sensible tree of cases; the limit also ends a loop of symbolic links. */
const depthLimit = 8;

async function casesBelow(context: Context, folder: string, depth: number): Promise<string[]> {
  const names = await context.files.list(resolve(context.cwd, folder));
  if (names.includes('config.yaml')) return [folder];
  if (depth === depthLimit) return [];
  const found: string[] = [];
  for (const name of names.filter((one) => one.endsWith('/') && one !== 'node_modules/'))
    found.push(...(await casesBelow(context, join(folder, name.slice(0, -1)), depth + 1)));
  return found;
}

function textOf({ name, tookMs, problems, updated }: CaseResult): string {
  const verdict = problems.length === 0 ? 'ok  ' : 'FAIL';
  const news = updated.length === 0 ? '' : `, wrote ${updated.join(', ')}`;
  const details = problems.map(({ text }) => `${text.trimEnd().replace(/^/gm, '     ')}\n`).join('');
  return `${verdict} ${name} (${Math.round(tookMs)} ms${news})\n${details}`;
}
