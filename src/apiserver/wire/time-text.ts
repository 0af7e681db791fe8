// Decides whether a text is a time of RFC 3339. Date.parse() also reads "2020", "Jan 1 2020" and the 30th of February, which typed
// clients refuse: one object with such a time would take them the whole list.

const form = /^(\d{4}-(\d\d)-\d\d)T(\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** `form` = it is no such text at all; otherwise the first part that is out of range, as Go names it. */
export function timeFault(text: string): 'form' | 'month' | 'day' | 'hour' | 'minute' | 'second' | undefined {
  const [whole, date = '', month, hour, minute, second] = form.exec(text) ?? [];
  if (whole === undefined) return 'form';
  if (Number(month) < 1 || Number(month) > 12) return 'month';
  if (!isDay(date)) return 'day';
  if (Number(hour) > 23) return 'hour';
  if (Number(minute) > 59) return 'minute';
  if (Number(second) > 59) return 'second';
  return Number.isNaN(Date.parse(text)) ? 'form' : undefined;
}

/** Date carries the 30th of February over into March. */
function isDay(date: string): boolean {
  const atMs = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(atMs) && new Date(atMs).toISOString().startsWith(date);
}
