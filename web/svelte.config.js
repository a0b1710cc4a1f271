// Runes everywhere; nothing else to say.
export default { compilerOptions: { runes: true } };
