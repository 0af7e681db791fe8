// Reads a duration on the command line, in the form of kubectl and Helm: `30s`, `5m`, `1h30m`, or `0`.
import { CommandFault, exitCodes } from './context.ts';

const unitsMs: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
/** A week; a longer time is probably a slip of the pen. */
const aWeek = { ms: 7 * 24 * 3_600_000, says: 'a week' };

export function durationMs(option: string, text: string, longest: { ms: number; says: string } = aWeek): number {
  if (text === '0') return 0;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)];
  const isWhole = parts.length > 0 && parts.map(([part]) => part).join('') === text;
  if (!isWhole) throw fault(option, 'a time such as 30s, 5m or 1h30m', text);
  const ms = parts.reduce((sum, [, number, unit]) => sum + Number(number) * (unitsMs[unit as string] as number), 0);
  if (ms > longest.ms) throw fault(option, `${longest.says} at most`, text);
  return ms;
}

function fault(option: string, wanted: string, found: string): CommandFault {
  return new CommandFault(exitCodes.usage, `--${option} wants ${wanted}, found "${found}"`);
}
