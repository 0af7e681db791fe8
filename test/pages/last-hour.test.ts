import { describe, expect, it } from 'vitest';
import { shortText } from '../../src/cli/running/short-text.ts';
import { statusMain } from '../../src/pages/status/status-page.ts';
import type { StatusJson } from '../../src/sync/report/words.ts';
import { textOf } from './fields.ts';
import { failing } from './status-cases.ts';

describe('the last hour', () => {
  const until = new Date('2026-01-01T01:00:00Z');
  const at = (minute: number) => new Date(until.getTime() - minute * 60_000);
  const point = (minute: number) => ({ at: at(minute), atMs: 0, writesPerSecond: 2, p50Ms: 3, p99Ms: 4 });
  const pictureOf = (hour: ReturnType<typeof point>[], status: StatusJson) => {
    const page = statusMain({ verdict: {}, ...status }, hour, { asOf: until }).text;
    return page.slice(page.indexOf('id="hour"'));
  };

  it('draws a point alone as a dot that is seen, and no write as a line at zero', () => {
    const picture = pictureOf([point(20)], { uptimeSeconds: 1800 });
    expect(picture.match(/<circle class="(first|second)"/g)).toHaveLength(2);
    const writes = picture.slice(picture.indexOf('>Writes'));
    expect(writes).not.toContain('<circle');
    expect(writes).toMatch(/d="M322\.0 138\.0L\S+ 138\.0L\S+ 10\.0L\S+ 138\.0L592\.0 138\.0"/);
    expect(pictureOf([], { uptimeSeconds: 30 })).toMatch(/<path class="first" d="M\S+ 138\.0L592\.0 138\.0"/);
  });

  it('has one word for the lag, and says of what time each figure is', () => {
    const lag = { p50Ms: 1, p99Ms: 31.68, samples: 1024 };
    const text = textOf(pictureOf([point(1), point(2)], { lag }));
    expect(text).toContain('Lag, from an event to the host copy');
    expect(text).toContain('Each point is of ten seconds');
    expect(text).toContain('the lag under Objects is of the last 1024 changes');
    const short = shortText({ ...failing, lag });
    expect(short).toContain('lag p50 1 ms, p99 31.68 ms');
    expect(short).not.toContain('delay');
  });
});
