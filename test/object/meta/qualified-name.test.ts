import { describe, expect, it } from 'vitest';
import {
  dns1035LabelProblems,
  dnsLabelProblems,
  dnsSubdomainProblems,
  labelKeyProblems,
  labelValueProblems,
} from '../../../src/object/meta/qualified-name.ts';
import { cases } from '../fixture.ts';

describe('names, label keys and label values', () => {
  it.each(cases<{ text: string }>('name-rules'))('are judged as Kubernetes does: $text', ({ text, ...expected }) => {
    expect({
      key: labelKeyProblems(text),
      label: dnsLabelProblems(text),
      label1035: dns1035LabelProblems(text),
      subdomain: dnsSubdomainProblems(text),
      value: labelValueProblems(text),
    }).toEqual(expected);
  });
});
