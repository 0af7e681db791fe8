// Writes the warnings of an answer as headers, few and short enough for every client: some take no more than 100 headers or
// 16 KiB of them, and would lose the answer to a write that was done.
import type { Kind } from '../kinds/kind.ts';
import type { Call } from '../kinds/kit.ts';

type Headers = Record<string, string | string[]>;

/** With a dozen other headers this stays far below the 100 headers of Python's clients. */
const maxWarnings = 40;
/** The real server's limits: above the sum, each warning is cut. */
const maxSum = 4096;
const maxCutLength = 256;

export function warningHeaders(call: Pick<Call, 'kind' | 'warnings'>): Headers {
  if (call.warnings.length === 0) return fixedWarnings(call.kind);
  return { warning: warningLines([...(call.kind.warnings ?? []), ...call.warnings]) };
}

const fixedHeaders = new WeakMap<Kind, Headers>();

function fixedWarnings(kind: Kind): Headers {
  let headers = fixedHeaders.get(kind);
  if (headers === undefined) {
    headers = kind.warnings === undefined ? {} : { warning: warningLines(kind.warnings) };
    fixedHeaders.set(kind, headers);
  }
  return headers;
}

/** What does not fit is counted in the last line. */
export function warningLines(texts: readonly string[]): string[] {
  const different = [...new Set(texts)];
  const isTooLong = different.reduce((sum, { length }) => sum + length, 0) > maxSum;
  const lines: string[] = [];
  let left = maxSum;
  for (const text of different) {
    const shown = isTooLong ? text.slice(0, maxCutLength) : text;
    left -= shown.length;
    if (lines.length === maxWarnings || left < 0) break;
    lines.push(warningLine(shown));
  }
  const more = different.length - lines.length;
  return more === 0 ? lines : [...lines, warningLine(`and ${more} more warnings`)];
}

/** The API conventions require `-` as the agent; characters that a header must not contain are dropped. */
function warningLine(text: string): string {
  const quotable = text.replace(/[^\x20-\x7e]/g, '').replace(/[\\"]/g, '\\$&');
  return `299 - "${quotable}"`;
}
