// Sentences to read aloud into a microphone, and to hear a designed voice by: one for each language,
// about eight seconds long, with many of its sounds.

import { languageName } from "./words.js";

const SENTENCES = {
  en: "The harbour was quiet that morning. A few boats rocked on the water, and somewhere behind the houses a bell rang twice.",
  zh: "那天早晨港口很安静。几条小船在水面上轻轻摇晃，房子后面的钟响了两下。",
  de: "Der Hafen lag an diesem Morgen still. Ein paar Boote wiegten sich im Wasser, und hinter den Häusern schlug eine Glocke zweimal.",
  fr: "Ce matin-là, le port était calme. Quelques barques se balançaient sur l’eau, et derrière les maisons une cloche sonna deux fois.",
  es: "Aquella mañana el puerto estaba en calma. Unas barcas se mecían en el agua, y detrás de las casas una campana sonó dos veces.",
  it: "Quella mattina il porto era tranquillo. Alcune barche dondolavano sull’acqua e dietro le case una campana suonò due volte.",
  pt: "Naquela manhã o porto estava calmo. Alguns barcos balançavam na água e, atrás das casas, um sino tocou duas vezes.",
  ja: "その朝、港は静かでした。小さな船が水の上でゆれ、家々の向こうで鐘が二度鳴りました。",
  ko: "그날 아침 항구는 조용했습니다. 작은 배 몇 척이 물 위에서 흔들리고, 집들 뒤에서 종이 두 번 울렸습니다.",
  ru: "В то утро в гавани было тихо. Несколько лодок качались на воде, а за домами дважды прозвонил колокол.",
};

/** The sentence of a language ("english", "en" ...); the English one where there is none. */
export function sentenceIn(language) {
  const same = (code) => languageName(code) === languageName(language);
  return SENTENCES[(language && Object.keys(SENTENCES).find(same)) || "en"];
}
