import { describe, expect, it } from 'vitest';
import causes from '../../../fixtures/sync/refusal-causes.json' with { type: 'json' };
import { refusalCause } from '../../../src/sync/plan/refusal-cause.ts';

describe('refusalCause() is the same for the objects of', () => {
  it.each(causes.cases)('$claim', ({ names, messages, cause }) => {
    for (const [at, message] of messages.entries()) expect(refusalCause(message, [names[at] as string])).toBe(cause);
  });
});
