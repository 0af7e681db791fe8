// The log of the process: one JSON line for each entry, on the stream that is passed in. Messages are constant and in lower
// case; facts stand in fields. info: a decision changed a cluster; debug: a decision changed nothing; error: someone must act.
import { type DestinationStream, type Logger, pino } from 'pino';
import { safeText } from './safe-text.ts';

export type Log = Logger;
export const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'silent'] as const;
export type LogLevel = (typeof logLevels)[number];

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

export const silentLog: Log = pino({ level: 'silent' });
