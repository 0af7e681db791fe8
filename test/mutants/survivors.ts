// Faults that no suite notices, each with the reason: it changes nothing that anybody could see, or what it changes is not worth a test.

export const survivors: readonly { name: string; reason: string }[] = [];
