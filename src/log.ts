// The log of the process: one JSON line for each entry, on the stream that is passed in. Messages are constant and in lower
// case; facts are in fields. info: a decision changed a cluster; debug: a decision changed nothing; error: someone must act.
import { type DestinationStream, type Logger, pino } from 'pino';
import { safeText } from './safe-text.ts';

export type Log = Logger;
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

const logFormats = ['auto', 'json', 'text'] as const;
export type LogFormat = (typeof logFormats)[number];

export function createLog(options: { level: LogLevel; destination?: DestinationStream }): Log {
  const settings = {
    level: options.level,
    base: null,
    timestamp: timestamps(),
    formatters: { level: (label: string) => ({ level: label }) },
  };
  // Synchronous on purpose: a line that explains an exit must be written before the exit.
  const destination = options.destination ?? pino.destination({ fd: 1, sync: true });
  // JSON escapes only the characters below U+0020, but people read logs on terminals too.
  return pino(settings, { write: (line) => void destination.write(safeText(line)) });
}

/** A burst writes several lines in a millisecond, and formatting the time costs more than the rest of a line. */
function timestamps(): () => string {
  let spelt = '';
  let atMs = Number.NaN;
  return () => {
    const now = new Date();
    if (now.getTime() !== atMs) {
      atMs = now.getTime();
      spelt = `,"time":"${now.toISOString()}"`;
    }
    return spelt;
  };
}

export function wantsText(format: LogFormat, stream: { isTerminal: boolean }): boolean {
  return format === 'text' || (format === 'auto' && stream.isTerminal);
}

/**
 * A line of the log for people: time, level, component and message, then the facts. A fact that is not one plain word is
 * written as JSON, so that no tenant can break the line.
 */
export function textLine(line: string): string {
  const { level, time, component, msg, err, ...facts } = JSON.parse(line) as Record<string, unknown>;
  const { message, stack } = (err ?? {}) as { message?: string; stack?: string };
  const all = message === undefined ? facts : { ...facts, err: message };
  const shown = Object.entries(all).map(([name, value]) => ` ${name}=${plainWord(value) ?? JSON.stringify(value)}`);
  const subject = component === undefined ? msg : `${component}: ${msg}`;
  // Only a bug of ours has a stack, and without it nobody finds the bug.
  const trace = stack === undefined ? '' : `${stack.replace(/^/gm, '    ')}\n`;
  return `${time} ${String(level).padEnd(5)} ${subject}${shown.join('')}\n${trace}`;
}

function plainWord(value: unknown): string | undefined {
  return typeof value === 'string' && /^[\w./:@%+-]+$/.test(value) ? value : undefined;
}

export const silentLog: Log = pino({ level: 'silent' });
