// `hostward test`: runs test cases for patches. In: folders. Out: a line or a diff for each case, perhaps a JUnit file, and an
// exit code.

import { join, resolve } from 'node:path';
import { counted } from '../object/text/in-words.ts';
import { safeText } from '../safe-text.ts';
import { CommandFault, type Context, type ExitCode, exitCodes } from './line/context.ts';
import type { Options } from './line/parse-arguments.ts';
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
  else context.stdout.write(`${counted(results.length, 'case')}, ${failed || 'none'} failed\n`);
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

/** Prints the results of `hostward test` as JUnit XML, which every build server reads. */
export function junitXml(results: readonly CaseResult[]): string {
  const failed = results.filter(({ problems }) => problems.length > 0).length;
  const totals = `tests="${results.length}" failures="${failed}" time="${seconds(results)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${totals}>`,
    `  <testsuite name="hostward test" ${totals}>`,
    ...results.flatMap(caseLines),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function caseLines(result: CaseResult): string[] {
  const head = `    <testcase classname="hostward" name="${escaped(result.name)}" time="${seconds([result])}"`;
  if (result.problems.length === 0) return [`${head}/>`];
  const failures = result.problems.map(
    ({ what, text }) => `      <failure message="${escaped(what)}">${escaped(text)}</failure>`,
  );
  return [`${head}>`, ...failures, '    </testcase>'];
}

function seconds(results: readonly CaseResult[]): string {
  return (results.reduce((sum, { tookMs }) => sum + tookMs, 0) / 1000).toFixed(3);
}

const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };

/** XML cannot hold most control characters and two others, even as references, so they become escapes as on a terminal. */
function escaped(text: string): string {
  const safe = safeText(text).replaceAll('\ufffe', '\\ufffe').replaceAll('\uffff', '\\uffff');
  return safe.replace(/[&<>"]/g, (mark) => entities[mark] as string);
}
