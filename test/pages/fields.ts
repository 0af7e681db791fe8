// Finds the fields of a status that a page, or the command, does not show.
import { statusText } from '../../src/cli/running/status-text.ts';
import { isFacts, type StatusJson, say, wordsOf } from '../../src/sync/report/words.ts';

/** What a person reads. */
export function textOf(page: string): string {
  const marks: Record<string, string> = { lt: '<', gt: '>', amp: '&', quot: '"', '#39': "'" };
  return page.replace(/<[^>]*>/g, '\n').replace(/&([a-z#0-9]+);/g, (_, name: string) => marks[name] as string);
}

/** Names and values of every field, however deep. */
export function leavesOf(value: unknown, name = ''): { name: string; value: unknown }[] {
  if (Array.isArray(value)) return value.length === 0 ? [{ name, value }] : value.flatMap((one) => leavesOf(one, name));
  if (!isFacts(value)) return [{ name, value }];
  return Object.entries(value).flatMap(([member, below]) => leavesOf(below, member));
}

/** Fields whose name or value is on the page or in `hostward status --all` not at all, or in other words. */
export function missingFields({ verdict: _, ...facts }: StatusJson, page: string): { name: string; value: unknown }[] {
  const lines = textOf(page).split('\n');
  const names = new Set(lines.map((line) => line.toLowerCase()));
  const ofCommand = statusText(facts);
  return leavesOf(facts).filter(({ name, value }) => {
    const words = wordsOf(name).toLowerCase();
    const isOnPage = names.has(words) && lines.includes(say(value));
    return !isOnPage || !ofCommand.toLowerCase().includes(words) || !ofCommand.includes(say(value));
  });
}
