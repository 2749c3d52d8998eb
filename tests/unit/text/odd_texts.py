"""Texts that break planners, by name, and the names of those with nothing to speak.

Those with lone surrogates cannot be written to a UTF-8 file.
"""

_PARAGRAPH = (
    "It was a fine day in 1984, and the birds sang in St. James's Park. "
    '"Really?" asked Mr. Smith, who had paid 3.14 pounds for it. '
    "Nobody answered; the rain had begun, and the band went home. "
)
_CHAPTER = "Chapter 1\n\n" + (_PARAGRAPH * 8 + "\n\n") * 134

_ZALGO = "".join(letter + "\u0335\u0321\u0363\u035c\u0342" * 4 for letter in "He comes at night")

_MARKDOWN = """# A title

Some *emphasis*, some **strength**, `code` and a [link](https://example.com/a_(b)).

Setext heading
==============

* first
* second
  1. nested

| a | b |
|---|---|
| 1 | 2 |

***

> A quotation that goes on
> for two lines.

```python
print("hello")
```
"""

_PYTHON = """def area(r: float) -> float:
    if r < 0:
        raise ValueError(f"bad radius: {r!r}")
    return 3.14159 * r ** 2  # πr²
"""

_HARD_WRAPPED = """The text of an old electronic book is wrapped by hand at about seventy
columns, so that a line break is only a space, and Mr. Jones, who types
on, would not want a pause there.  Two spaces follow a full stop.
"""

_DIALOGUE = '"No."\n\n"Why?"\n\n"Because."\n\n"I see," she said, and closed the door behind her.\n'

ODD_TEXTS: dict[str, str] = {
    "empty": "",
    "blank": " \t\n\u00a0\u3000\r\n",
    "punctuation": "?! ... -- — (…) 「。」",
    "one emoji": "😄",
    "emoji": "😄👍\U0001f3fd 👨\u200d👩\u200d👧 ❤\ufe0f \U0001f1eb\U0001f1f7 ℹ\ufe0f",
    "ruler": "==========\n----------\n* * *",
    "lone marks": "\u0301\u0302 ่",
    "invisible": "\u200b\u200d\ufeff\u202e\u2060\u00ad",
    "only NUL": "\x00\x00",
    "only lone surrogates": "\ud83d\udc00\ud83d",
    "single letter": "a",
    "single digit": "7",
    "percent sign": "%",
    "one word": "No.",
    "numbers": "1,984 people paid 3.14 or 1.000,50 at 12:30, -5 °C, 50 %, ½, 1e-9, 2nd, XIV.",
    "dates": "On 2026-11-29, 29.11.2026 and 11/29/26 at 10:05:59 a.m. it began; it ended Jan. 3.",
    "very long number": "Pi is 3." + "1415926535" * 40 + " and so on.",
    "IP address": "Ping 1.2.3.4 and 192.168.0.1:8080. Then ::1. Then version 2.0.0-rc.1.",
    "URLs": "See https://a.com/b?c=d&e=f#g. Or www.example.org, ftp://x.y/z; mail a.b@c.uk.",
    "one long URL": "https://example.com/" + "very-long-path/" * 60,
    "abbreviations": "Dr. and Mrs. Smith, e.g. of the U.S., met Prof. X at 5 p.m. No. 7 won.",
    "ellipses": "Wait... what? Yes… no. . . . Well..... ok",
    "all capitals": "THIS IS NOT A DRILL. LEAVE NOW! NASA AND THE FBI SAID SO.",
    "mixed quotes": "“Stop. Now!” he cried. ‘Oh. Well.’ «Non ?» „Doch.“ 'It's 5\" long.'",
    "single-word million": "a" * 1_000_000,
    "book chapter": _CHAPTER,
    "no end marks": "word after word " * 400,
    "hard wrapped": _HARD_WRAPPED,
    "CRLF": "First line.\r\nSecond line.\r\n\r\nNew paragraph.\r\n",
    "CR": "First line.\rSecond line.\r\rNew paragraph.",
    "form feeds": "Page one\x0cpage two\x0bline\x85next\u2028line\u2029paragraph.",
    "NUL inside": "Hel\x00lo the\x00re.",
    "escape codes": "\x1b[31mRed\x1b[0m alert\x07!",
    "direction override": "Invoice \u202egpj.exe\u202c is \u2066safe\u2069.",
    "lone surrogate": "Broken \ud83d emoji \udc4d here.",
    "combining marks": "Cafe\u0301 nai\u0308ve A\u030angstro\u0308m \u1100\u1161\u11a8.",
    "Zalgo": _ZALGO,
    "tabs": "name\tage\tcity\nAnna\t7\tRome\n",
    "zero-width spaces": "zero\u200bwidth\u200bspace and soft\u00adhyphen and word\u2060joiner.",
    "byte order mark": "\ufeffHello there.",
    "emoji inside": "Great 😄! See you 👋\U0001f3fd.\n\n🎉🎉🎉\n\nBye.",
    "markdown": _MARKDOWN,
    "HTML": '<p class="a">Hello&nbsp;<b>there</b>.<br/>Bye &amp; thanks.</p><script>x=1;</script>',
    "code": _PYTHON,
    "mathematics": "∀x ∈ ℝ: x² ≥ 0, ∫₀¹ x dx = ½, E = mc², 𝒳 ≠ ∅.",
    "bullet list": "Buy:\n- milk\n- eggs\n- bread\n\n1. Wash\n2. Dry\n3) Iron\n",
    "poem": "The wind has gone to sleep,\nThe boats lie still, the tide\nIs out;\nA light comes on",
    "dialogue": _DIALOGUE,
    "mixed scripts": "Hello 你好 Привет مرحبا สวัสดี नमस्ते 안녕 γεια שלום.",
    "Chinese": "今天天气很好，我们去公园吧。共有1,234人！“真的吗？”他说。" * 12,
    "Chinese without marks": "今天天气很好我们去公园玩" * 60,
    "Japanese": "「はい。」と言った。東京でコーヒーを飲みました。" * 12,
    "Korean": "안녕하세요. 오늘은 날씨가 좋네요! 어디 가세요? " * 8,
    "Thai": "สวัสดีครับวันนี้อากาศดีมากเราไปเที่ยว" * 20,
    "Arabic": "مرحبا بالعالم، كيف حالك؟ أنا بخير؛ شكرا. " * 12,
    "Hebrew": "שָׁלוֹם עולם. מה נשמע?",
    "Hindi": "नमस्ते दुनिया, यह एक परीक्षण है। कैसे हैं आप? " * 12,
    "Khmer": "សួស្តី។ អ្នកសុខសប្បាយទេ?",
    "Russian": "В 2026 г. всё изменилось, т.е. стало лучше. Правда? Да!",
}

NOTHING_TO_SPEAK: frozenset[str] = frozenset(
    {"empty", "blank", "punctuation", "one emoji", "emoji", "ruler", "lone marks", "invisible"}
    | {"only NUL", "only lone surrogates"}
)
