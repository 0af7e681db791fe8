// Prints the results of `hostward test` as JUnit XML, which every build server reads.
import { safeText } from '../../safe-text.ts';
import type { CaseResult } from './test-case.ts';

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
