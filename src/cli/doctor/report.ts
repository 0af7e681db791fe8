// Prints an examination: one line for each check under its category, or one JSON document. Knows no check.
import { counted } from '../../object/text/in-words.ts';
import type { Sink } from '../line/context.ts';
import { wrap } from '../line/help.ts';
import type { Examination } from './examine.ts';
import { type Category, type Code, categories, entryOf, pageOf } from './patient/codes.ts';
import type { CheckedFinding, CheckVerdict } from './patient/finding.ts';

export interface JudgedFindings extends Examination {
  /** Findings that --suppress takes out of the report and out of the verdict. */
  suppressed: readonly CheckedFinding[];
  exitCode: number;
  /** By Ctrl-C: some checks did not run. */
  isInterrupted: boolean;
}

const words: Readonly<Record<CheckVerdict, string>> = {
  ok: 'ok',
  warning: 'warning',
  fault: 'fault',
  couldNotCheck: 'could not check',
};

const wordWidth = Math.max(...Object.values(words).map(({ length }) => length));
/** Under the text of the first line. */
const indent = ' '.repeat(2 + wordWidth + 2 + 'HW-000'.length + 2);
const widest = 160;
const narrowest = 80;

function textReport(judged: JudgedFindings, columns: number | undefined): string {
  const width = Math.max(narrowest, Math.min(columns ?? widest, widest));
  const lines = categories.flatMap((category) => categoryLines(judged, category, width));
  return `${[...lines, ...summary(judged)].join('\n')}\n`;
}

function categoryLines({ findings }: JudgedFindings, category: Category, width: number): string[] {
  const own = findings.filter(({ code }) => entryOf(code).category === category);
  return own.length === 0 ? [] : [category, ...own.flatMap((finding) => findingLines(finding, width)), ''];
}

function findingLines(finding: CheckedFinding, width: number): string[] {
  const { code, verdict, says, details = [], mend } = finding;
  const head = `  ${words[verdict].padEnd(wordWidth)}  ${code}  ${says}`;
  if (verdict === 'ok') return [head];
  const hung = (text: string, lead: string): string[] =>
    text
      .split('\n')
      // A command stays one line, so that it can be copied.
      .flatMap((line) => (isCommand(line) ? [line] : wrap(line, width - indent.length - lead.length)))
      .map((line, index) => `${indent}${index === 0 ? lead : ' '.repeat(lead.length)}${line}`);
  return [
    head,
    ...details.flatMap((text) => hung(text, '- ')),
    ...(mend === undefined ? [] : hung(mend, 'mend: ')),
    ...(verdict === 'couldNotCheck' ? [] : [`${indent}see ${pageOf(code)}`]),
  ];
}

function isCommand(line: string): boolean {
  return /^(hostward|kubectl|helm|chmod|chown) /.test(line);
}

function summary({ findings, hidden, suppressed, isInterrupted }: JudgedFindings): string[] {
  const count = (verdict: CheckVerdict): number => findings.filter((one) => one.verdict === verdict).length;
  const parts = [
    `${counted(findings.length, 'check')}: ${count('ok')} ok`,
    counted(count('warning'), 'warning'),
    counted(count('fault'), 'fault'),
    `${count('couldNotCheck')} could not be checked`,
  ];
  const notMade = [...Map.groupBy(hidden, ({ because }) => because)].map(
    ([because, ofIt]) =>
      `${counted(ofIt.length, 'check was', 'checks were')} not made, because ${ofIt.length === 1 ? 'it needs' : 'they need'} ${because}: ${ofIt.map(({ code }) => code).join(', ')}`,
  );
  return [
    `${isInterrupted ? 'interrupted after ' : ''}${parts.join(', ')}`,
    ...notMade,
    ...(findings.some(({ code, verdict }) => code === 'HW-101' && verdict === 'fault')
      ? ['no other check was made, because all of them need HW-101']
      : []),
    ...(suppressed.length === 0
      ? []
      : [`suppressed: ${suppressed.map(({ code, verdict }) => `${code} (${words[verdict]})`).join(', ')}`]),
  ];
}

function jsonReport({ findings, hidden, suppressed, exitCode, isInterrupted }: JudgedFindings): string {
  const checks = findings.map((finding) => ({ ...named(finding), page: pageOf(finding.code) }));
  const report = { exitCode, isInterrupted, checks, hidden, suppressed: suppressed.map(named) };
  return `${JSON.stringify(report, undefined, 2)}\n`;
}

function named({ code, mayPass: _, isUnanswered: __, ...finding }: CheckedFinding): {
  code: Code;
  category: Category;
  title: string;
} {
  return { code, ...entryOf(code), ...finding };
}

export function print(sink: Sink, judged: JudgedFindings, isJson: boolean): void {
  sink.write(isJson ? jsonReport(judged) : textReport(judged, sink.columns));
}
